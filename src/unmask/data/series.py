"""Series as tables: several time steps of the same features, a feature being one unit over all of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from unmask.data.frames import Column, FrameCodec
from unmask.data.layouts import table_layout
from unmask.errors import InputError
from unmask.types import Layout

__all__ = ["flattened", "series_codec", "series_layout"]


def flattened(x: Tensor, groups: Mapping[str, Sequence[int | str]] | None) -> tuple[Tensor, Layout, FrameCodec]:
    """(n, steps, features) as rows of steps * features columns, all of the first step coming first.

    `groups` maps units to features by number (from 0) or name (x1, x2, ...); without it each feature is a unit.
    """
    steps, features = x.shape[1:]
    if not steps or not features:
        raise InputError(f"series must be (rows, steps, features) with at least one of each, got {tuple(x.shape)}")
    names = [f"x{i}" for i in range(1, features + 1)]
    return x.flatten(1), series_layout(names, steps, groups), series_codec(names, steps)


def series_layout(
    features: Sequence[str], steps: int, groups: Mapping[str, Sequence[int | str]] | None = None
) -> Layout:
    """The layout of a flat series: what owns a feature owns it at every step."""
    once = table_layout(features, groups, "feature")
    return Layout("table", (steps * len(features),), once.owner * steps, once.units)


def series_codec(features: Sequence[str], steps: int) -> FrameCodec:
    """Names for the columns of a flat series, `t1/feature` and so on, for models that take data frames."""
    return FrameCodec(tuple(Column(f"t{t}/{name}", "float32") for t in range(1, steps + 1) for name in features))
