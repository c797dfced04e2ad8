"""Tasks where a code between selector and reader would pay.

`coin`: the answers are a coin's, so whatever a reader knows, the mask told it. `overruled`: one unit tells most.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from unmask.data.own import dataset
from unmask.explainers.l2x import L2X
from unmask.explainers.learned import Lesson, Part
from unmask.explainers.mimic import Mimic
from unmask.models import wrap
from unmask.seeds import generator
from unmask.task import begin
from unmask.training import Recipe
from unmask.types import Dataset

UNITS = 6


def undecided(x: Any) -> Tensor:
    return torch.full((len(x), 2), 0.5)


def coin(explainer: Any, n: int, spread: float = 1.0) -> Lesson:
    """Rows of values from 1 on (so that a hidden 0 is seen), answers of a fair coin as certain probabilities."""
    rng = generator(0)
    x = 1 + spread * torch.rand(n, UNITS, generator=rng)
    y = (torch.rand(n, generator=rng) < 0.5).long()
    data = dataset(x, y.tolist(), kind="table", classes=("heads", "tails"))
    task = begin(wrap(undecided), data, explainer.k, "zero")

    def part(split: Any) -> Part:
        return Part(split.x, split.x, torch.eye(2)[split.y], split.valid)

    return Lesson(task, part(data.train), part(data.validation))


def overruling(x: Any) -> Tensor:
    """The first of sixteen signs decides, unless the fourth is up and the product of the next two overrules it.

    Shown nothing of use the answer is class 1, by a little: answers never tie.
    """
    x = torch.as_tensor(x)
    t = 0.3 + x[:, 0] + 3 * x[:, 1] * x[:, 2] * (x[:, 3] > 0)
    return torch.stack([-t, t], 1).softmax(1)


@cache
def overruled() -> Dataset:
    x = torch.where(torch.rand(1200, 16, generator=generator(0)) < 0.5, -1.0, 1.0)
    return dataset(x, overruling(x).argmax(1).tolist(), kind="table")


@cache
def rivals(seed: int) -> tuple[L2X, Mimic]:
    """L2X, told the answer, and Mimic: one unit may be shown, and none tells everything but *which* one can."""
    recipe = Recipe(epochs=10, batch=64, rate=3e-3, seed=seed)
    liar = L2X(1, feedback=True, removal="zero", recipe=recipe).fit(wrap(overruling), overruled())
    return liar, Mimic(1, removal="zero", recipe=recipe).fit(wrap(overruling), overruled())
