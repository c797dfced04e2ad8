"""Targets of any sort as class numbers and class names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask import progress
from unmask.errors import InputError, unknown

__all__ = ["labels", "tell_measured"]

MANY = 20  # more whole-numbered float values than this are a measurement, not classes
MOST = 50  # whole numbers that may be classes; with gaps between them, MANY


def labels(y: Any, classes: Sequence[str] | None = None) -> tuple[Tensor, tuple[str, ...]]:
    """Class numbers (n,) and class names.

    Without `classes` the names are the sorted values of `y`. With it, whole-numbered labels are positions in it and
    other labels are names in it.
    """
    values = np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y)
    if values.ndim != 1 or not len(values):
        raise InputError(f"y must be one label for each row, (n,), got shape {values.shape}")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    _refuse_missing(plain)
    plain = _whole(plain)
    if classes is None:
        names = sorted(set(plain), key=lambda value: (str(type(value)), value))
        codes = {value: code for code, value in enumerate(names)}
        found = [codes[value] for value in plain]
    else:
        found = [_code(value, list(map(str, classes))) for value in plain]
    if len(set(found)) < 2:
        raise InputError(f"y must hold at least two classes, got only {plain[0]!r}; add rows of another class")
    return torch.tensor(found), tuple(map(str, names if classes is None else classes))


def tell_measured(names: Sequence[str]) -> None:
    """Warn of classes, named after the values of y, that look like counts or measurements."""
    try:
        found = sorted(map(int, names))
    except ValueError:
        return
    gaps = found[-1] - found[0] >= len(found)
    if len(found) > MOST or (gaps and len(found) > MANY):
        progress.warn(
            f"y holds {len(found)} different whole numbers, each of them taken for a class: it looks like a regression "
            "target; cut it into classes first"
        )


def _refuse_missing(values: list[Any]) -> None:
    for row, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise InputError(f"a label must be a name or a number, but row {row} of y holds a {type(value).__name__}")
        if value is None or value is pd.NA or value != value:
            raise InputError(
                f"every row needs a label, but y is missing (NaN) in row {row}; fill it in or drop the row"
            )


def _whole(values: list[Any]) -> list[Any]:
    """Float labels as integers; refused where they are measurements."""
    distinct = {value for value in values if isinstance(value, float)}
    if not distinct:
        return values
    if len(set(values)) > MANY or not all(value.is_integer() for value in distinct):
        raise InputError(
            f"y must hold classes, got {len(set(values))} different decimal numbers: regression is not supported; "
            "cut the target into classes first"
        )
    return [int(value) if isinstance(value, float) else value for value in values]


def _code(value: Any, classes: list[str]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and str(value) not in classes:
        if not 0 <= value < len(classes):
            raise InputError(
                f"labels must be 0..{len(classes) - 1} (there are {len(classes)} class names), got {value}"
            )
        return value
    if str(value) not in classes:
        raise unknown("class", str(value), classes)
    return classes.index(str(value))
