"""Two real sets that come with scikit-learn."""

from __future__ import annotations

import torch
from sklearn.datasets import load_breast_cancer, load_digits

from unmask.data import splits
from unmask.data.layouts import image_layout, table_layout
from unmask.types import Dataset

__all__ = ["digits", "tumours"]


def digits(name: str, seed: int, patch: int = 1) -> Dataset:
    """1,797 handwritten digits of 8 by 8 pixels in [0, 1]: 1,000 to train, 197 to validate, 600 to test."""
    source = load_digits()
    x = torch.tensor(source.data / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(source.target, dtype=torch.long)
    layout = image_layout((1, 8, 8), patch)
    rows = splits.draw(y, (1000, 197, 600), seed)
    parts = [splits.array_split(x[r], y[r], layout) for r in rows]
    return splits.joined(name, layout, tuple("0123456789"), parts, {"source": "scikit-learn load_digits"})


def tumours(name: str, seed: int) -> Dataset:
    """569 breast tumours, 30 measurements in their own units, 60/20/20."""
    source = load_breast_cancer()
    x = torch.tensor(source.data, dtype=torch.float32)
    y = torch.tensor(source.target, dtype=torch.long)
    layout = table_layout([str(column) for column in source.feature_names])
    parts = [splits.array_split(x[r], y[r], layout) for r in splits.shares(y, seed)]
    notes = {"source": "scikit-learn load_breast_cancer"}
    return splits.joined(name, layout, tuple(map(str, source.target_names)), parts, notes)
