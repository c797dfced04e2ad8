"""Inputs of any sort as the rows the library works on."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask.data.tokens import tokenize
from unmask.errors import InputError, unknown
from unmask.types import Kind

__all__ = ["images", "infer", "sentences", "table", "words"]

CHANNELS = (1, 3, 4)


def infer(x: Any) -> Kind:
    """The kind of some rows, where there is only one answer."""
    if isinstance(x, pd.DataFrame):
        return "table"
    if isinstance(x, np.ndarray | Tensor) and x.ndim >= 2:
        return "table" if x.ndim == 2 else "image"
    first = next(iter(x))
    if isinstance(first, str):
        return "words"
    if isinstance(first, list | tuple | np.ndarray) and len(first):
        if isinstance(first[0], str) and not any(" " in word for row in x for word in row):
            return "words"
        if isinstance(first[0], list | tuple):
            return "sentences" if len(first[0]) and isinstance(first[0][0], str) else "image"
        if isinstance(first[0], int | float | np.number):
            return "table"
    raise InputError(f"cannot tell what these rows are; say kind=, one of {', '.join(get_args(Kind))}")


def numbers(x: Any, what: str) -> Tensor:
    """float32 values, as given; what float32 would cut or turn into numbers is refused."""
    held = str(getattr(x, "dtype", ""))
    if "complex" in held or "datetime" in held or "timedelta" in held:
        raise InputError(f"{what} must be numbers, got {held}; turn them into real numbers first")
    try:
        values = x.detach().cpu() if isinstance(x, Tensor) else torch.from_numpy(np.array(x, dtype=np.float32))
    except (TypeError, ValueError) as fault:
        raise InputError(
            f"{what} must be numbers, all rows of one shape ({fault}); columns of words need a data frame"
        ) from fault
    return values.float()


def table(x: Any) -> Tensor:
    """(n, columns), or (n, steps, features) for series."""
    values = numbers(x, "a table")
    if values.ndim not in (2, 3) or not values.shape[1]:
        raise InputError(
            "a table must have two dimensions (rows, columns), or three (rows, steps, features), "
            f"got shape {tuple(values.shape)}"
        )
    return values


def images(x: Any) -> Tensor:
    """(n, channels, height, width) from that, from channels last, or from (n, height, width)."""
    values = numbers(x, "images")
    if values.ndim == 3:
        return values.unsqueeze(1)
    if values.ndim == 4 and values.shape[1] in CHANNELS:
        return values
    if values.ndim == 4 and values.shape[3] in CHANNELS:
        return values.permute(0, 3, 1, 2).contiguous()
    raise InputError(
        "images must be (n, height, width), (n, channels, height, width) or (n, height, width, channels) with 1, 3 or "
        f"4 channels, got shape {tuple(values.shape)}"
    )


def words(x: Any) -> list[list[str]]:
    """Strings are cut into lower-case words by `tokenize`; lists of words are taken as they are."""
    _refuse_frame(x, "words")
    made = [_words(row, place) for place, row in enumerate(x)]
    for place, row in enumerate(made):
        _refuse_empty(row, place)
    return made


def sentences(x: Any) -> list[list[list[str]]]:
    """Each row a list of sentences, each of them a string, cut as in `words`, or a list of words."""
    _refuse_frame(x, "sentences")
    made = []
    for place, row in enumerate(x):
        if isinstance(row, str):
            raise InputError(
                f"with kind='sentences' each row is a list of sentences, but row {place} is one string; cut it"
            )
        if not isinstance(row, list | tuple | np.ndarray):
            raise InputError(
                f"with kind='sentences' each row is a list of sentences, but row {place} holds {type(row).__name__}"
            )
        cut = [_words(sentence, place) for sentence in row]
        _refuse_empty(cut, place)
        for sentence in cut:
            _refuse_empty(sentence, place)
        made.append(cut)
    return made


def _words(row: Any, place: int) -> list[str]:
    if isinstance(row, str):
        return tokenize(row)
    if isinstance(row, list | tuple | np.ndarray) and all(isinstance(word, str) for word in row):
        return [str(word) for word in row]
    raise InputError(
        f"a text must be a string or a list of words, but row {place} holds {type(row).__name__}; convert it"
    )


def _refuse_empty(row: list[Any], place: int) -> None:
    if not row:
        raise InputError(f"every text needs at least one word, but row {place} is empty; drop it")


def check_kind(kind: str) -> None:
    if kind not in get_args(Kind):
        raise unknown("kind", str(kind), get_args(Kind))


def _refuse_frame(x: Any, kind: str) -> None:
    if hasattr(x, "columns"):
        raise InputError(
            f"rows of {kind} come from one column, got a table with {len(x.columns)}: name it (--text COLUMN)"
        )
