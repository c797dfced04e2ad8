"""`shap.Explanation`: values of rows, of classes and of pieces of texts, seen to be about the rows and the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from unmask.errors import InputError
from unmask.foreign.about import About, owners
from unmask.foreign.arrays import picked, to_units

__all__ = ["shap_values"]

FOLLOWS = 0.3  # rank correlation with the model's answers below which SHAP values are of something else
ENOUGH = 20  # rows, for that to be told
MARKS = ("##", "Ġ", "▁")  # how tokenizers mark pieces of words


def shap_values(about: About, thing: Any) -> Tensor:
    about = _named(about, getattr(thing, "output_names", None))
    about.check_rows(len(thing.values))
    _check_same_rows(about, thing.data)
    if about.data.layout.is_text:
        return _shap_words(about, thing)
    values = np.ascontiguousarray(thing.values, dtype=np.float32)
    shape = about.data.layout.shape
    if values.ndim == len(shape) + 2 or (
        values.ndim == 3 and len(shape) == 3 and values.shape[1] == about.data.layout.d
    ):
        _check_additive(about, values, thing.base_values)
        return picked(about, values)
    found = to_units(about, torch.as_tensor(values))
    return _turned(about, found, found.sum(1) + _base(thing.base_values, len(found)))


def _named(about: About, names: Any) -> About:
    """What it is about, classes counted as the values are: in the order of their names, where they have the data's."""
    if isinstance(names, str) or len(names := list(map(str, names if names is not None else ()))) != about.classes:
        return about
    if set(names) != set(about.data.classes):
        return about
    return replace(about, model=replace(about.model, order=tuple(map(names.index, about.data.classes))))


def _base(base: Any, n: int) -> Tensor:
    """(n,) what was added for each row; where it is one number for all, or nobody knows it, nothing: ranks stay."""
    known = np.asarray(0.0 if base is None else base, dtype=np.float32).reshape(-1)
    return torch.as_tensor(known) if len(known) == n else torch.zeros(n)


def _check_same_rows(about: About, data: Any) -> None:
    """SHAP keeps the rows it explained: they must be ours, where both are plain numbers of one shape."""
    x = about.split.x
    if not isinstance(x, Tensor) or not isinstance(data, np.ndarray) or data.shape != tuple(x.shape):
        return
    try:
        theirs = torch.as_tensor(data.astype(np.float32))
    except (TypeError, ValueError):
        return
    other = ~torch.isclose(theirs, x, rtol=1e-3, atol=1e-4, equal_nan=True).flatten(1).all(1)
    if bool(other.any()):
        raise InputError(
            f"{about.name!r} explains other rows: {int(other.sum())} of {len(x)} differ from {about.part} of "
            f"{about.data.name}, the first is row {int(other.nonzero()[0])}; explain data.{about.part}.x"
        )


def _check_additive(about: About, values: np.ndarray, base: Any) -> None:
    """SHAP values add up to the answer: the class they add up to most should be the one that the model predicts."""
    if base is None:  # some explainers keep none: then nothing is known of the sums
        return
    total = values.reshape(len(values), -1, values.shape[-1]).sum(1) + np.asarray(base, dtype=np.float32)
    agree = float((torch.as_tensor(total).argmax(1) == about.column).float().mean())
    if total.shape[1] == about.classes and len(values) >= ENOUGH and agree < 0.5:
        raise InputError(
            f"{about.name!r} adds up to the model's answer in {agree:.0%} of the rows only: it was made for another "
            "model, other data or classes in another order"
        )


def _turned(about: About, values: Tensor, total: Tensor) -> Tensor:
    """Values without classes, toward the predicted class: their sums (n,) tell which class they speak for."""
    columns = {"target": about.said.gather(1, about.target[:, None])[:, 0]}
    columns |= {str(c): about.said[:, c] for c in range(about.classes)}
    follows = {name: _rank_correlation(total, column) for name, column in columns.items()}
    best = max(follows, key=lambda name: (round(follows[name], 6), name == "target"))
    if len(values) >= ENOUGH and follows[best] < FOLLOWS:
        raise InputError(
            f"the sums of {about.name!r} do not follow the model's answers: it was made for another model or other data"
        )
    if best == "target":
        return values
    if about.classes > 2:
        named = about.data.classes[int(best)]
        raise InputError(f"{about.name!r} explains the class {named!r} only; give the values of all classes (n, d, c)")
    return torch.where((about.target == int(best))[:, None], values, -values)


def _rank_correlation(a: Tensor, b: Tensor) -> float:
    ranks = torch.as_tensor(np.stack([rankdata(t.numpy()) for t in (a, b)]))  # equals share their mean rank
    return float(torch.corrcoef(ranks)[0, 1].nan_to_num())


def _shap_words(about: About, thing: Any) -> Tensor:
    values, total = torch.zeros(about.split.valid.shape), torch.zeros(len(about.split))
    of_classes = False
    for i, (pieces, scores) in enumerate(zip(thing.data, thing.values, strict=True)):
        row = torch.as_tensor(np.ascontiguousarray(scores, dtype=np.float32))
        of_classes = row.ndim == 2
        row = row[:, int(about.column[i])] if of_classes else row
        total[i] = row.sum()
        for unit, value in zip(owners(about, i, [_bare(p) for p in pieces]), row.tolist(), strict=True):
            if unit is not None:
                values[i, unit] += value
    return values if of_classes else _turned(about, values, total + _base(thing.base_values, len(total)))


def _bare(piece: Any) -> str:
    return str(next((str(piece).removeprefix(mark) for mark in MARKS if str(piece).startswith(mark)), piece))
