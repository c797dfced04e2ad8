"""What the lecture says against explanations, each claim an experiment: `experiment(ground, row) -> values`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.reproduce.claims.ground import Found, Ground

__all__ = ["EXPERIMENTS", "experiment"]

EXPERIMENTS = {
    "lime-samples": "settings:lime_samples",
    "lime-kernel": "settings:lime_kernel",
    "shap-background": "settings:shap_background",
    "ig-baseline": "settings:ig_baseline",
    "model-ignored": "ignoring:model_ignored",
    "disagreement": "disagreeing:disagreement",
    "deceptive-attention": "deceived:deceptive_attention",
    "fragile": "moving:fragile",
    "moved-saliency": "moving:moved_saliency",
    "axioms": "axioms:axioms",
    "linear-weights": "weights:linear_weights",
}
"""Name of a table -> its experiment, "module:function" below this folder."""


def experiment(name: str) -> Callable[[Ground, str], Found]:
    """The experiment of a table, imported when it is asked for."""
    module, _, function = EXPERIMENTS[name].partition(":")
    found: Callable[[Ground, str], Found] = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    return found
