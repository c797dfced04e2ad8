"""Your own data as a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unmask.data import frames, rows, splits
from unmask.data.layouts import SENTENCES, WORDS, image_layout, table_layout
from unmask.errors import InputError
from unmask.types import Dataset, Frames, Inputs, Kind, Layout, Split, rows_of

__all__ = ["dataset", "labels"]

PARTS = ("train", "validation", "test")
MANY = 20  # more whole-numbered float values than this are a measurement, not classes


def dataset(
    x: Any,
    y: Any,
    kind: Kind | None = None,
    *,
    classes: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[int | str]] | None = None,
    split: Mapping[str, Any] | None = None,
    seed: int = 0,
    name: str = "yours",
    valid: Any = None,
    relevant: Any = None,
    patch: int = 1,
) -> Dataset:
    """Arrays, a data frame, images or texts with class labels.

    Values are kept as given, never scaled. `classes` names the classes in order (whole-numbered labels are then
    positions in it); otherwise they are the sorted values of `y`. `split` maps train, validation and test to row
    numbers; without it each class is divided 60/20/20. `groups` maps units of a table to their columns; the one-hot
    columns of a data frame's category are one unit by themselves. `patch` makes squares of pixels the units.
    """
    if not len(x):
        raise InputError("the data are empty: expected at least three rows of each class, got none")
    if len(x) != len(y):
        raise InputError(f"x and y must have the same number of rows, got {len(x)} and {len(y)}; match them up")
    kind = rows.infer(x) if kind is None else kind
    codes, names = labels(y, classes)
    inputs, layout, codec = _prepared(x, kind, groups, patch)
    whole = Split(inputs, codes, _mask(valid, layout, inputs, "valid"), None)
    if valid is None:
        whole = Split(inputs, codes, layout.valid(inputs))
    if relevant is not None:
        whole = Split(inputs, codes, whole.valid, _mask(relevant, layout, inputs, "relevant"))
    chosen = _positions(split, codes, names, seed)
    made = {part: _part(whole, index, layout) for part, index in chosen.items()}
    notes = {"source": "own data", "seed": seed, "split": "given" if split else "60/20/20 by class"}
    return Dataset(name, _named(layout, units), names, **made, notes=notes, frames=codec)
