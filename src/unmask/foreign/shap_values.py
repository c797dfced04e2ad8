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
from unmask.foreign.arrays import picked, refuse_interactions, to_units

__all__ = ["shap_values"]

FOLLOWS = 0.3  # rank correlation with the model's answers below which SHAP values are of something else
ENOUGH = 20  # rows, for that to be told
CLOSE = 0.02  # of the highest rank correlation: nearer ones cannot be told apart by it
NEARER = 0.75  # of another distance: what lies nearer to the model's answers than this is meant
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
        if np.shape(thing.base_values)[-1:] != (about.classes,):  # where each class has a base they are of classes
            refuse_interactions(about, torch.as_tensor(values))
        _check_additive(about, values, thing.base_values)
        return picked(about, values)
    found = to_units(about, torch.as_tensor(values))
    return _turned(about, found, found.sum(1), _base(thing.base_values, len(found)))


def _named(about: About, names: Any) -> About:
    """What it is about, classes counted as the values are: in the order of their names, where they have the data's."""
    if isinstance(names, str) or len(names := list(map(str, names if names is not None else ()))) != about.classes:
        return about
    if set(names) != set(about.data.classes):
        return about
    return replace(about, model=replace(about.model, order=tuple(map(names.index, about.data.classes))))


def _base(base: Any, n: int) -> Tensor | None:
    """(n,) what was added for each row, where it is known."""
    known = np.asarray([] if base is None else base, dtype=np.float32).reshape(-1)
    return torch.as_tensor(known).expand(n) if len(known) in (1, n) else None


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
    known = np.asarray(base, dtype=np.float32)
    known = known[:, None] if known.shape == (len(values),) != values.shape[-1:] else known  # one for each row
    total = values.reshape(len(values), -1, values.shape[-1]).sum(1) + known
    agree = float((torch.as_tensor(total).argmax(1) == about.column).float().mean())
    if total.shape[1] == about.classes and len(values) >= ENOUGH and agree < 0.5:
        raise InputError(
            f"{about.name!r} adds up to the model's answer in {agree:.0%} of the rows only: it was made for another "
            "model, other data or classes in another order"
        )


def _turned(about: About, values: Tensor, sums: Tensor, base: Tensor | None) -> Tensor:
    """Values without classes, toward the predicted class."""
    meant = _meant(about, sums, base)
    if torch.equal(meant, about.target):
        return values
    if about.classes > 2:
        named = about.data.classes[int(meant[0])]
        raise InputError(f"{about.name!r} explains the class {named!r} only; give the values of all classes (n, d, c)")
    return torch.where((about.target == meant)[:, None], values, -values)


def _meant(about: About, sums: Tensor, base: Tensor | None) -> Tensor:
    """(n,) the class that values speak for: the predicted one, or one for all rows. Its answers follow their sums.

    Where those of several do, as in a model that gives two answers only, sums and base add up to one of them.
    """
    total = sums if base is None else sums + base
    answers = [about.target, *(torch.full_like(about.target, c) for c in range(about.classes))]
    follows = [_rank_correlation(total, about.said.gather(1, one[:, None])[:, 0]) for one in answers]
    if len(total) >= ENOUGH and max(follows) < FOLLOWS:
        raise InputError(
            f"the sums of {about.name!r} do not follow the model's answers: it was made for another model or other data"
        )
    near = [one for one, followed in zip(answers, follows, strict=True) if followed >= max(follows) - CLOSE]
    near = [one for i, one in enumerate(near) if i == 0 or not torch.equal(one, near[0])]
    return near[0] if len(near) == 1 else _added_up(about, near, total, base is not None)


def _added_up(about: About, answers: list[Tensor], total: Tensor, based: bool) -> Tensor:
    """Of several answers the one that `total` is: as a probability, its logarithm or log-odds."""
    differ = torch.stack(answers).ne(answers[0]).any(0)
    p = [about.said.gather(1, one[:, None])[:, 0][differ].clamp(1e-6, 1 - 1e-6) for one in answers]
    off = [min(float((total[differ] - form).abs().mean()) for form in (q, q.log(), q.logit())) for q in p]
    first, second = sorted(range(len(off)), key=off.__getitem__)[:2]
    if not based or off[first] > NEARER * off[second]:
        lack = "" if based else " and there are no base values"
        raise InputError(
            f"cannot tell whether {about.name!r} speaks for one class or for the predicted one, as the model's answers "
            f"rank alike{lack}; give the values of all classes (n, d, {about.classes})"
        )
    return answers[first]


def _rank_correlation(a: Tensor, b: Tensor) -> float:
    if len(a) < 2:
        return 0.0
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
    return values if of_classes else _turned(about, values, total, _base(thing.base_values, len(total)))


def _bare(piece: Any) -> str:
    return str(next((str(piece).removeprefix(mark) for mark in MARKS if str(piece).startswith(mark)), piece))
