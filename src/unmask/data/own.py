"""Your own data as a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask.data import frames, rows, series, splits
from unmask.data.labels import labels, tell_measured
from unmask.data.layouts import SENTENCES, WORDS, image_layout, table_layout
from unmask.errors import InputError
from unmask.types import Dataset, Inputs, Kind, Layout, Split

__all__ = ["dataset"]

PARTS = ("train", "validation", "test")
Groups = Mapping[str, Sequence[int | str]]


def dataset(
    x: Any,
    y: Any,
    kind: Kind | None = None,
    *,
    classes: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    groups: Groups | None = None,
    split: Mapping[str, Any] | None = None,
    seed: int = 0,
    name: str = "yours",
    relevant: Any = None,
    patch: int = 1,
) -> Dataset:
    """Arrays, a data frame, images or texts with class labels.

    Values are kept as given, never scaled. `classes` names the classes in order (whole-numbered labels are then
    positions in it); otherwise they are the sorted values of `y`. `split` maps train, validation and test to row
    numbers, or to masks of the rows; without it each class is divided 60/20/20. `groups` maps units of a table to their
    columns; the one-hot columns of a data frame's category are one unit by themselves. `patch` makes squares of pixels
    the units.

    A string is cut into words: in lower case, punctuation and hyphens apart, `don't` as `do` and `n't`; `<br />` goes,
    `&amp;` becomes `&`, curly quotes become plain (all of it: `unmask.data.tokenize`). The words are the units, and a
    model that takes texts gets them joined by blanks, not the string as it was. Lists of words are kept as they are:
    give these where the model knows capitals or has words of its own.

    With kind="table", x of three dimensions is series (n, steps, features): a unit is a feature over all steps, or a
    group of features where `groups` names features. The model gets flat rows, the first step first; a torch module
    that reads series goes behind `nn.Unflatten(1, (steps, features))`.
    """
    _check_lengths(x, y)
    kind = rows.infer(x) if kind is None else kind
    rows.check_kind(kind)
    codes, names = labels(y, classes)
    if classes is None:
        tell_measured(names)
    inputs, layout, codec = _prepared(x, kind, groups, patch)
    _refuse_infinite(inputs)
    whole = Split(inputs, codes, layout.valid(inputs))
    if relevant is not None:
        whole = replace(whole, relevant=_mask(relevant, whole.valid, "relevant"))
    chosen = _given(split, len(codes)) if split is not None else _drawn(codes, names, seed)
    made = [_trimmed(whole.rows(chosen[part]), layout) for part in PARTS]
    notes = {"source": "own data", "seed": seed, "split": "60/20/20 by class" if split is None else "given"}
    return splits.joined(name, _named(layout, units), names, made, notes, codec)


def _check_lengths(x: Any, y: Any) -> None:
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise InputError("x is a sparse matrix, but every value of a row can be removed; give x.toarray()")
    if not all(hasattr(given, "__len__") and getattr(given, "ndim", 1) for given in (x, y)):
        raise InputError(f"x and y must be rows and their labels, got {type(x).__name__} and {type(y).__name__}")
    if not len(x):
        raise InputError("the data are empty: expected at least three rows of each class, got none")
    if len(x) != len(y):
        raise InputError(f"x and y must have the same number of rows, got {len(x)} and {len(y)}; match them up")


def _prepared(x: Any, kind: Kind, groups: Groups | None, patch: int) -> tuple[Inputs, Layout, frames.FrameCodec | None]:
    if groups is not None and kind != "table":
        raise InputError(f"groups are sets of columns and need kind='table', got kind={kind!r}; leave them out")
    if patch != 1 and kind != "image":
        raise InputError(f"patch is a number of pixels and needs kind='image', got kind={kind!r}; leave it out")
    if kind == "words":
        return rows.words(x), WORDS, None
    if kind == "sentences":
        return rows.sentences(x), SENTENCES, None
    if kind == "image":
        pictures = rows.images(x)
        channels, height, width = pictures.shape[1:]
        return pictures, image_layout((channels, height, width), patch), None
    if not isinstance(x, pd.DataFrame):
        values = rows.table(x)
        if values.ndim == 3:
            return series.flattened(values, groups)
        return values, table_layout([f"x{i}" for i in range(1, values.shape[1] + 1)], groups), None
    if not len(x.columns):
        raise InputError("no column is left for the model to read; keep at least one beside the label")
    codec = frames.learn(x)
    layout = codec.layout() if groups is None else _grouped(codec, groups)
    return codec.encode(x), layout, codec


def _refuse_infinite(x: Inputs) -> None:
    if isinstance(x, Tensor) and bool(x.isinf().any()):
        row = int(x.isinf().flatten(1).any(1).nonzero()[0])
        raise InputError(f"row {row} holds a value that is not finite; replace it, or leave it missing (NaN)")


def _grouped(codec: frames.FrameCodec, groups: Groups) -> Layout:
    """Groups of a data frame's variables, as groups of encoded columns."""
    variables = codec.layout()
    units = table_layout(variables.units, groups)
    owner = tuple(units.owner[unit] for unit in variables.owner)
    return Layout("table", variables.shape, owner, units.units, variables.says)


def _named(layout: Layout, units: Sequence[str] | None) -> Layout:
    if units is None:
        return layout
    if layout.is_text or len(units) != layout.d:
        there = "none, as the units of a text are its positions" if layout.is_text else str(layout.d)
        raise InputError(f"units must name each unit once (here {there}), got {len(units)} names; match them up")
    return replace(layout, units=tuple(map(str, units)))


def _mask(given: Any, valid: Tensor, what: str) -> Tensor:
    mask = torch.as_tensor(np.asarray(given) if not isinstance(given, Tensor) else given).bool()
    if mask.shape != valid.shape:
        raise InputError(f"{what} must be {tuple(valid.shape)} (rows, units), got {tuple(mask.shape)}")
    return mask


def _drawn(codes: Tensor, names: tuple[str, ...], seed: int) -> dict[str, Tensor]:
    for label, count in enumerate(codes.bincount(minlength=len(names)).tolist()):
        if 0 < count < len(PARTS):
            raise InputError(
                f"a class needs at least 3 rows to be split, but {names[label]!r} has {count}; add rows or give split="
            )
    return dict(zip(PARTS, splits.shares(codes, seed), strict=True))


def _given(split: Mapping[str, Any], n: int) -> dict[str, Tensor]:
    if set(split) != set(PARTS):
        raise InputError(f"split must map train, validation and test to row numbers, got {', '.join(map(str, split))}")
    chosen = {part: _row_numbers(split[part], part, n) for part in PARTS}
    every = torch.cat(list(chosen.values()))
    if any(not len(index) for index in chosen.values()):
        raise InputError("each of train, validation and test needs at least one row number, got an empty one; add rows")
    if int(every.min()) < 0 or int(every.max()) >= n:
        raise InputError(f"row numbers in split must be 0..{n - 1}, got {int(every.min())}..{int(every.max())}")
    if len(set(every.tolist())) < len(every):
        raise InputError("a row may stand in one split only, but split repeats some; remove the repetitions")
    return chosen


def _row_numbers(given: Any, part: str, n: int) -> Tensor:
    """Row numbers, from these or from a mask of all rows."""
    values = np.asarray(given)
    if values.dtype == bool and values.shape != (n,):
        raise InputError(
            f"split must map {part} to row numbers, or to one boolean for each of the {n} rows, got booleans of shape "
            f"{values.shape}; match them up"
        )
    if values.dtype.kind not in "biuf":
        raise InputError(f"split must map {part} to row numbers, got {values.dtype}; count rows from 0")
    cut = values[~np.isfinite(values) | (np.trunc(values) != values)] if values.dtype.kind == "f" else values[:0]
    if cut.size:
        raise InputError(f"split must map {part} to row numbers, got {cut.flat[0]}; count rows from 0")
    rows = np.flatnonzero(values) if values.dtype == bool else values
    return torch.as_tensor(rows).long().flatten()


def _trimmed(split: Split, layout: Layout) -> Split:
    """Texts padded to their own split's longest row only."""
    if not layout.is_text:
        return split
    d = max(map(len, split.x))
    relevant = None if split.relevant is None else split.relevant[:, :d]
    return replace(split, valid=split.valid[:, :d], relevant=relevant)
