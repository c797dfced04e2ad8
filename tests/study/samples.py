"""Explanations whose kept units are chosen by hand, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

import unmask
from unmask.types import Dataset, Explanation

PARTS = {"train": [0, 1], "validation": [2, 3], "test": [4, 5, 6, 7]}
CLASSES = ("bad", "good")


def explained(data: Dataset, kept: Sequence[Sequence[int]], target: Sequence[int]) -> Explanation:
    """An explanation of the test rows that keeps the units with these numbers."""
    split = data.test
    mask = torch.zeros_like(split.valid)
    for row, units in zip(mask, kept, strict=True):
        row[list(units)] = True
    about = torch.tensor(target)
    origin = {"method": "by-hand"}
    return Explanation(mask.float(), mask, split.valid, about, origin, split.x, data.layout, data.classes)


def made(x: Any, kind: Any, groups: Any = None, patch: int = 1) -> Dataset:
    """Eight rows, the last four of them the test."""
    y = [0, 1] * 4
    return unmask.dataset(x, y, kind, classes=CLASSES, split=PARTS, groups=groups, patch=patch)


def texts() -> Dataset:
    rows = ["a plain film"] * 4 + ["a good film , really", "not a good film", 'bad <b>bold</b> "quoted"', "so , so"]
    return made([row.split() for row in rows], "words")


def pictures() -> Dataset:
    """Of 2 by 2 pixels with the values 0, 0.2, 0.4 and 0.6."""
    return made(np.tile(np.arange(4).reshape(1, 2, 2) / 5, (8, 1, 1)).astype(np.float32), "image")


def table() -> Dataset:
    frame = pd.DataFrame(
        {"age": range(20, 28), "town": ["York", "Bath"] * 4, "score": [0.5, None] * 4, "new": [True, False] * 4}
    )
    return made(frame, "table")
