"""Small rows of every kind, and models that were shown them for a moment."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import torch

from audit.cases import planted
from unmask.data import load
from unmask.methods import MODELS, make
from unmask.nets.bodies import Nets
from unmask.training import Recipe
from unmask.types import Dataset

KINDS = ("table", "image", "words", "sentences")
NAMES = sorted(MODELS)


@cache
def rows(kind: str) -> Dataset:
    return load("reviews", seed=3, n=120, unit="sentences") if kind == "sentences" else planted(kind)


def unfitted(name: str, k: int | float = 1, **settings: Any) -> Any:
    made = make(name, k, None, settings)
    return replace(made, nets=Nets(hidden=8, window=4), recipe=Recipe(epochs=1, batch=40, rate=1e-3, seed=5))


@cache
def fitted(name: str, kind: str, k: int | float = 1) -> Any:
    with torch.random.fork_rng():
        return unfitted(name, k).fit(rows(kind))
