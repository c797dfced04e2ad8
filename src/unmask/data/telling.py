"""How much each unit says about the class on its own: what a liar hides in says nothing."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.feature_selection import f_classif
from torch import Tensor

from unmask.nets import Reader
from unmask.types import Layout

__all__ = ["of_units", "telling", "telling_units", "telling_words"]


def telling(reader: Reader, x: Tensor, answer: Tensor, classes: int) -> Tensor:
    """How much each column, pixel or word of prepared rows says about the class: (d,), or (vocabulary,) for texts."""
    if reader.vocabulary is None:
        return telling_units(reader.layout, x, answer)
    return telling_words(x, answer, classes, len(reader.vocabulary))


def of_units(reader: Reader, tells: Tensor, x: Tensor) -> Tensor:
    """(n, d) what the units of prepared rows tell, from that table; a sentence what its words tell on average."""
    if not reader.layout.is_text:
        return tells.expand(len(x), -1)
    if reader.layout.kind == "words":
        return tells[x]
    there = (x != 0).float()
    return (tells[x] * there).sum(-1) / there.sum(-1).clamp(min=1)


def telling_units(layout: Layout, x: Tensor, answer: Tensor) -> Tensor:
    """(d,) the F statistic of each unit's value against the class; 0 for a dead unit."""
    mean = x.nanmean(0)
    values = layout.gather(torch.where(x.isnan(), mean, x))
    alive = values.std(0) > 1e-9
    tells = torch.zeros(layout.d)
    with np.errstate(divide="ignore", invalid="ignore"):  # a unit without spread inside the classes, or one class only
        found = f_classif(values[:, alive].numpy(), answer.numpy())[0] if bool(alive.any()) else np.zeros(0)
    tells[alive] = torch.as_tensor(found, dtype=torch.float32)
    return tells.nan_to_num(neginf=0.0)


def telling_words(ids: Tensor, answer: Tensor, classes: int, vocabulary: int) -> Tensor:
    """(vocabulary,) how far the classes of texts with a word are from all texts'; rare words count as telling."""
    flat = ids.flatten(1)
    table = torch.zeros(vocabulary, classes).index_put_(
        (flat, answer[:, None].expand_as(flat)), torch.ones(()), accumulate=True
    )
    count = table.sum(1, keepdim=True)
    prior = torch.bincount(answer, minlength=classes) / len(answer)
    return ((table + prior) / (count + 1) - prior).abs().sum(1) + count[:, 0].clamp(min=1) ** -0.5
