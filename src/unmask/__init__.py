"""Explanations of machine-learning models that can be trusted: trained without shortcuts, audited with controls.

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.api import audit, explainer, fit, load_explainer, train_model
    from unmask.data import dataset, load, plant
    from unmask.errors import InputError, NotFittedError, TrainingError, UnmaskError
    from unmask.explainers.gradients import Gradient, GradientXInput
    from unmask.explainers.integrated import IntegratedGradients
    from unmask.explainers.l2x import L2X
    from unmask.explainers.occlusion import Occlusion
    from unmask.explainers.sequential import Sequential
    from unmask.models import wrap
    from unmask.report import Report
    from unmask.training import Recipe
    from unmask.types import Dataset, Explanation

__all__ = [
    "L2X",
    "Dataset",
    "Explanation",
    "Gradient",
    "GradientXInput",
    "InputError",
    "IntegratedGradients",
    "NotFittedError",
    "Occlusion",
    "Recipe",
    "Report",
    "Sequential",
    "TrainingError",
    "UnmaskError",
    "audit",
    "dataset",
    "explainer",
    "fit",
    "load",
    "load_explainer",
    "plant",
    "train_model",
    "wrap",
]

_HOMES = {
    "unmask.api": ("audit", "explainer", "fit", "load_explainer", "train_model"),
    "unmask.data": ("dataset", "load", "plant"),
    "unmask.errors": ("InputError", "NotFittedError", "TrainingError", "UnmaskError"),
    "unmask.explainers.gradients": ("Gradient", "GradientXInput"),
    "unmask.explainers.integrated": ("IntegratedGradients",),
    "unmask.explainers.l2x": ("L2X",),
    "unmask.explainers.occlusion": ("Occlusion",),
    "unmask.explainers.sequential": ("Sequential",),
    "unmask.models": ("wrap",),
    "unmask.report": ("Report",),
    "unmask.training": ("Recipe",),
    "unmask.types": ("Dataset", "Explanation"),
}

# The room `audit/` and the call `audit` share a name. Loaded now (it is light), the room cannot take the name later.
importlib.import_module("unmask.audit")
globals().pop("audit")


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'unmask' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
