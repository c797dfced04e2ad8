"""Rows about attention: how a model is trained, how a trained one is trained on, and on how many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unmask.attention import METHODS
from unmask.training import Recipe

__all__ = [
    "ATTENDING",
    "LONG_ROWS",
    "PRETRAINED_ROWS",
    "REVIEWS",
    "STEADYING",
    "STEADY_ROWS",
    "VANILLA",
    "VANILLA_TRANSFORMER",
    "trained",
    "trained_on",
]

_ATTENTION = {"select": False}  # as published: fitted to the training rows, the last epoch is measured
_WRITTEN = {**_ATTENTION, "noise": 0.0, "held_out": False, "normalise": False}
_TRIED: dict[str, dict[str, Any]] = {  # one change each to weighting as it is written
    "linear": {"hidden": 0},
    "steps=5": {"steps": 5},
    "held-out": {"held_out": True},
    "floor=0.05": {"floor": 0.05},
    "smooth": {"smooth": 0.1},
    "normalised": {"normalise": True},
    "warm-up": {"warm": 1},
    "mixing": {"noise": 1.0},
}
ATTENDING: dict[str, tuple[str, Mapping[str, Any]]] = {
    "none": ("plain", _ATTENTION),
    "attention": ("plain", _ATTENTION),
    "attention+pretraining": ("random-pretraining", _ATTENTION),
    "attention+weighting": ("weighting", _ATTENTION),
    "attention+mixing": ("weighting", {**_ATTENTION, "warm": 10**6}),  # all but the weights
    "attention+weighting-as-written": ("weighting", _WRITTEN),
    **{f"attention+weighting-as-written+{name}": ("weighting", {**_WRITTEN, **own}) for name, own in _TRIED.items()},
}
"""Rows about attention, before the "/" and the encoder: how the model is trained."""
STEADYING: dict[str, tuple[str, Mapping[str, Any]]] = {
    "vanilla": ("attention", {}),
    "uniform": ("uniform", {}),
    "d1-only": ("seat", {"lam_stable": 0.0, "lam_overlap": 0.0}),
    "d1-topk": ("seat", {"lam_stable": 0.0}),
    "d1-only+dropout=0": ("seat", {"lam_stable": 0.0, "lam_overlap": 0.0, "dropout": 0.0}),
    "d1-topk+dropout=0": ("seat", {"lam_stable": 0.0, "dropout": 0.0}),
    "seat-without-topk": ("seat", {"lam_overlap": 0.0}),
    "word-at": ("word-at", {}),
    "word-iat": ("word-iat", {}),
    "attention-rp": ("attention-rp", {}),
    "attention-at": ("attention-at", {}),
    "attention-iat": ("attention-iat", {}),
    "seat": ("seat", {}),
    "seat+dropout=0": ("seat", {"dropout": 0.0}),
    "seat-development": ("seat-development", {}),
    "seat-released": ("seat-released", {}),
    "seat+words": ("seat", METHODS["seat-words"].settings),
}
"""Rows about steady attention, before the "/" and the encoder: how a trained model is trained on."""
STEADY_ROWS: dict[str, tuple[int, int]] = {"quick": (1500, 300), "default": (20_000, 1000), "paper": (100_000, 5000)}
"""Rows for training and testing steady attention, at most."""
LONG_ROWS: dict[str, tuple[int, int]] = {"quick": (600, 200), "default": (8000, 1000), "paper": (25_000, 5000)}
"""The same for whole reviews, which are twenty times as long."""
PRETRAINED_ROWS: dict[str, tuple[int, int]] = {"quick": (800, 200), "default": (4000, 400), "paper": (100_000, 5000)}
"""The same for the transformer, which takes fifty times as long; as many validation rows as test rows choose."""
VANILLA = Recipe(epochs=8, batch=32, rate=1e-3, patience=3)
VANILLA_TRANSFORMER = Recipe(epochs=3, batch=32, rate=4e-4, patience=1)  # 1e-4 is a point worse on validation rows
_RADII = {"rnn": 0.045, "bilstm": 0.065, "transformer": 0.05}  # of SEAT's attack on attention, by validation rows
REVIEWS: dict[str, int] = {"quick": 2000, "default": 25_000, "paper": 25_000}  # that attention is trained on
_ATTENTION_EPOCHS = {"quick": (12, 18), "default": (14, 18), "paper": (25, 25)}  # the second in each of two stages


def trained(row: str, scale: str, seed: int) -> tuple[str, dict[str, Any]]:
    """How the model of a row about the shortcut is trained: method and settings."""
    method, own = ATTENDING[row.partition("/")[0]]
    return method, {**own, "recipe": replace(_attending(method, scale), seed=seed)}


def trained_on(row: str, scale: str, seed: int) -> tuple[str, dict[str, Any]]:
    """How a trained model of a row about steady attention is trained on: method and settings."""
    name, _, encoder = row.partition("/")
    method, own = STEADYING[name]
    if method in ("attention", "uniform"):
        return method, {}
    slow = encoder == "transformer"  # what is pretrained learns slowly, and an epoch takes it long
    recipe = Recipe(epochs=3 - slow - (scale == "quick"), batch=32, rate=1e-4 if slow else 5e-4, seed=seed)
    radius = {"radius": _RADII[encoder]} if method in ("seat", "seat-development") else {}
    return method, {**radius, **own, "recipe": recipe}


def _attending(method: str, scale: str) -> Recipe:
    """RMSprop as published; batches are larger and rates fade, or the last epoch is a noisy one.

    Where a part is frozen and then looked through, running means are kept: the noise of its last steps would be a code.
    """
    rate = {"weighting": 1e-3, "mask classifier": 3e-3} if method == "weighting" else 1e-3
    staged = method == "random-pretraining"
    epochs, average, batch = _ATTENTION_EPOCHS[scale][staged], 0.998 * staged, 32 if scale == "quick" else 64
    return Recipe(epochs=epochs, batch=batch, rate=rate, optimizer="rmsprop", fade=0.95, average=average)
