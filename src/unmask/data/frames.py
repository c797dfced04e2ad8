"""Data frames as numbers and back: one-hot categories, numbers as they are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask import progress
from unmask.errors import InputError
from unmask.types import Layout

__all__ = ["Column", "FrameCodec", "check_names", "learn"]

MISSING = "?"  # how a missing category is named
MOST = 500  # categories of one column; more are names of rows or texts
TIMES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")
STRANGE = {**dict.fromkeys(TIMES, "dates or times"), "complex": "complex numbers", "decimal": "Decimal objects"}
EXACT = 2**24  # float32 holds every whole number up to here


@dataclass(frozen=True)
class Column:
    """One variable; `values` are its categories (None: missing), or None for a number."""

    name: Any  # as the frame has it, mostly a string; elsewhere it is shown as one
    dtype: Any
    values: tuple[Any, ...] | None = None

    @property
    def width(self) -> int:
        return 1 if self.values is None else len(self.values)


@dataclass(frozen=True)
class FrameCodec:
    """The columns of a frame in order; `decode` undoes `encode` exactly, but for what float32 rounds."""

    columns: tuple[Column, ...]

    def layout(self) -> Layout:
        """One unit for each variable, whatever the number of its one-hot columns."""
        owner = tuple(unit for unit, column in enumerate(self.columns) for _ in range(column.width))
        says = tuple((i, name) for i, column in enumerate(self.columns) for name in _categories(column))
        return Layout("table", (len(owner),), owner, tuple(str(column.name) for column in self.columns), says)

    def names_of_variables(self) -> list[Any]:
        """The names of the frame's columns."""
        return [column.name for column in self.columns]

    def names(self) -> list[str]:
        """The names of the encoded columns."""
        return [name for column in self.columns for name in _names(column)]

    def encode(self, frame: pd.DataFrame) -> Tensor:
        """(n, encoded columns) float32; a missing number stays NaN."""
        return torch.cat([_encoded(frame[column.name], column) for column in self.columns], dim=1)

    def decode(self, x: Tensor) -> pd.DataFrame:
        """The frame with its own types: the largest of a variable's one-hot columns names the category."""
        parts = torch.split(x.detach().cpu(), [column.width for column in self.columns], dim=1)
        return pd.DataFrame({c.name: _decoded(part, c) for c, part in zip(self.columns, parts, strict=True)})


def learn(frame: pd.DataFrame) -> FrameCodec:
    """The codec of a frame; only names of columns and categories are learned, no statistics."""
    check_names(frame)
    return FrameCodec(tuple(_column(series, name) for name, series in frame.items()))


def check_names(frame: pd.DataFrame) -> None:
    """Refuse names that stand for several columns, or that have several levels."""
    seen = set()
    for name in frame.columns:
        if isinstance(name, tuple):
            raise InputError(f"a column must have one name, got the levels {name}; join them to one string")
        if str(name) in seen:
            raise InputError(f"columns must have different names, but more than one is {str(name)!r}; rename them")
        seen.add(str(name))


def _column(series: pd.Series, name: Any) -> Column:
    strange = STRANGE.get(pd.api.types.infer_dtype(series, skipna=True))
    if strange is not None:  # neither numbers nor categories
        raise InputError(f"column {str(name)!r} holds {strange}; turn it into plain numbers or leave it out")
    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        return Column(name, series.dtype)
    values = _distinct(series, str(name))
    if isinstance(series.dtype, pd.CategoricalDtype):
        values = [value for value in series.dtype.categories if value in set(values)]
    else:
        values = sorted(values, key=str)
    return Column(name, series.dtype, (*values, None) if series.isna().any() else tuple(values))


def _distinct(series: pd.Series, name: str) -> list[Any]:
    """The categories of a column, refused where they are no single values or too many."""
    try:
        values = list(series.dropna().unique())
    except (NotImplementedError, TypeError) as fault:  # of pandas and of pyarrow, for lists, dicts and arrays
        held = next((type(value).__name__ for value in series if not isinstance(value, Hashable)), series.dtype)
        raise InputError(
            f"column {name!r} must hold one number or word in each row, got {held}; make columns of it or drop it "
            f"(--drop {name})"
        ) from fault
    if len(values) > MOST:
        raise InputError(
            f"column {name!r} holds {len(values)} different words, at most {MOST} can be categories; drop it "
            f"(--drop {name}), turn it into numbers, or name it if it holds the texts (--text {name})"
        )
    return values


def _names(column: Column) -> list[str]:
    if column.values is None:
        return [str(column.name)]
    return [f"{column.name}={name}" for name in _categories(column)]


def _categories(column: Column) -> list[str]:
    """What each encoded column stands for; a number stands for itself."""
    if column.values is None:
        return [""]
    return [MISSING if value is None else str(value) for value in column.values]


def _encoded(series: pd.Series, column: Column) -> Tensor:
    if column.values is None:
        _tell_merged(series)
        try:
            return torch.tensor(series.to_numpy(dtype=np.float32, na_value=np.nan))[:, None]
        except (TypeError, ValueError) as error:
            raise InputError(f"column {str(column.name)!r} held numbers in the data, but here: {error}") from error
    places = {value: place for place, value in enumerate(column.values)}
    codes = [places.get(None if pd.isna(value) else value) for value in series]
    if None in codes:
        stranger = series.iloc[codes.index(None)]
        raise InputError(
            f"column {str(column.name)!r} has the new value {stranger!r}; expected one of {_names(column)}"
        )
    return torch.nn.functional.one_hot(torch.tensor(codes), len(places)).float()


def _tell_merged(series: pd.Series) -> None:
    """Warn of whole numbers that differ, but not in float32: times in seconds, long identifiers."""
    values = np.unique(series.dropna().to_numpy())
    if values.dtype.kind not in "iuf" or not len(values) or -EXACT <= values[0] <= values[-1] <= EXACT:
        return
    with np.errstate(over="ignore"):
        told = len(np.unique(values.astype(np.float32)))
    if told < len(values) and bool((np.trunc(values) == values).all()):
        progress.warn(
            f"column {str(series.name)!r} holds {len(values)} different whole numbers, of which "
            f"float32 tells {told} apart; drop it (--drop {series.name}) or rescale it: subtract the smallest"
        )


def _decoded(part: Tensor, column: Column) -> pd.Series:
    if column.values is not None:
        chosen = [column.values[place] for place in part.argmax(1).tolist()]
        return pd.Series(chosen, dtype=object).astype(column.dtype)
    numbers = pd.Series(part[:, 0].double().numpy())
    if pd.api.types.is_bool_dtype(column.dtype):
        flags = (numbers >= 0.5).astype(column.dtype)
        return flags if isinstance(flags.dtype, np.dtype) else flags.mask(numbers.isna())
    if pd.api.types.is_integer_dtype(column.dtype):
        return numbers.round().astype(column.dtype)
    return numbers.astype(column.dtype)
