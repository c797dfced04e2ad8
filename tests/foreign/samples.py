"""Small tasks whose model is known, and what is asked about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

import unmask
from unmask.foreign.about import About
from unmask.models import bind, wrap
from unmask.types import Dataset

W = np.array([3.0, -2.0, 0.5, 0.0], dtype=np.float32)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4)).astype(np.float32)
TEXTS = [["a", "good", "film"], ["a", "bad", "film", "!"], ["good", "and", "good", "again"], ["it", "is", "n't", "bad"]]


def linear(x: Any) -> np.ndarray:
    p = 1 / (1 + np.exp(-(np.asarray(x) @ W)))
    return np.stack([1 - p, p], 1)


def three(x: Any) -> np.ndarray:
    z = np.asarray(x)[:, :3]
    return np.asarray(torch.softmax(torch.as_tensor(z * 3.0), 1))


def polite(texts: list[str]) -> np.ndarray:
    p = np.array([0.1 + 0.8 * (text.split().count("good") > 0) for text in texts])
    return np.stack([1 - p, p], 1)


def table() -> Dataset:
    return unmask.dataset(X, (X @ W > 0).astype(int), kind="table")


def three_classes() -> Dataset:
    return unmask.dataset(X, X[:, :3].argmax(1), kind="table")


def frame() -> Dataset:
    rows = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 1] > 0, "baker", "smith")})
    return unmask.dataset(rows, (X[:, 0] > 0).astype(int))


def texts() -> Dataset:
    return unmask.dataset(TEXTS * 8, [1, 0, 1, 0] * 8, kind="words")


def patches() -> Dataset:
    x = RNG.normal(size=(60, 3, 4, 4)).astype(np.float32)
    return unmask.dataset(x, (x[:, 0].mean((1, 2)) > 0).astype(int), kind="image", patch=2)


def bright(x: Any) -> np.ndarray:
    return linear(np.asarray(x).reshape(len(x), -1)[:, :4])


def about(data: Dataset, model: Any = linear, name: str = "mine") -> About:
    wrapped = bind(wrap(model), data)
    return About(name, data, data.test, "test", wrapped, wrapped(data.test.x))


def toward(it: About, values: Tensor) -> Tensor:
    """Values toward class 1, turned toward the predicted class."""
    return torch.where((it.target == 1)[:, None], values, -values)
