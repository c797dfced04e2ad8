"""Data frames as numbers and back: one-hot categories, numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.types import Layout

__all__ = ["Column", "FrameCodec", "learn"]

MISSING = "?"  # how a missing category is named


@dataclass(frozen=True)
class Column:
    """One variable; `values` are its categories (None: missing), or None for a number."""

    name: str
    dtype: Any
    values: tuple[Any, ...] | None = None

    @property
    def width(self) -> int:
        return 1 if self.values is None else len(self.values)


@dataclass(frozen=True)
class FrameCodec:
    """The columns of a frame in order; `decode` undoes `encode` exactly."""

    columns: tuple[Column, ...]

    def layout(self) -> Layout:
        """One unit for each variable, whatever the number of its one-hot columns."""
        owner = tuple(unit for unit, column in enumerate(self.columns) for _ in range(column.width))
        return Layout("table", (len(owner),), owner, tuple(column.name for column in self.columns))

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
    return FrameCodec(tuple(_column(frame[name]) for name in frame.columns))


def _column(series: pd.Series) -> Column:
    name = str(series.name)
    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        return Column(name, series.dtype)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        raise InputError(f"column {name!r} holds dates or times; turn it into numbers or leave it out")
    values = list(series.dropna().unique())
    if isinstance(series.dtype, pd.CategoricalDtype):
        values = [value for value in series.dtype.categories if value in set(values)]
    else:
        values = sorted(values, key=str)
    return Column(name, series.dtype, (*values, None) if series.isna().any() else tuple(values))


def _names(column: Column) -> list[str]:
    if column.values is None:
        return [column.name]
    return [f"{column.name}={MISSING if value is None else value}" for value in column.values]


def _encoded(series: pd.Series, column: Column) -> Tensor:
    if column.values is None:
        return torch.tensor(series.to_numpy(dtype=np.float32, na_value=np.nan))[:, None]
    places = {value: place for place, value in enumerate(column.values)}
    codes = [places.get(None if pd.isna(value) else value) for value in series]
    if None in codes:
        stranger = series.iloc[codes.index(None)]
        raise InputError(f"column {column.name!r} has the new value {stranger!r}; expected one of {_names(column)}")
    return torch.nn.functional.one_hot(torch.tensor(codes), len(places)).float()


def _decoded(part: Tensor, column: Column) -> pd.Series:
    if column.values is not None:
        chosen = [column.values[place] for place in part.argmax(1).tolist()]
        return pd.Series(chosen, dtype=object).astype(column.dtype)
    numbers = pd.Series(part[:, 0].double().numpy())
    if pd.api.types.is_bool_dtype(column.dtype):
        return (numbers >= 0.5).astype(column.dtype)
    if pd.api.types.is_integer_dtype(column.dtype):
        return numbers.round().astype(column.dtype)
    return numbers.astype(column.dtype)
