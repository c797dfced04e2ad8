"""Selections with known honesty, for calibrating the audit: references that cannot lie, and liars of other kinds than
the packaged `cheater`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unmask import seeds
from unmask.masking import subsets
from unmask.types import Dataset, Explanation, Inputs

Choose = Callable[[Inputs, Tensor, Tensor, torch.Generator], Tensor]
"""`choose(x, valid, target, rng) -> scores`."""


@dataclass
class Known:
    """An explainer made of one scoring function."""

    k: int
    choose: Choose
    data: Dataset
    seed: int = 0

    def fit(self, model: object, data: Dataset) -> Known:
        return self

    def clone(self) -> Known:
        return replace(self)

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        if target is None:
            raise ValueError("these selections are told the target")
        layout = self.data.layout
        valid = layout.valid(x)
        rng = seeds.generator(seeds.derive(self.seed, "known", len(x)))
        scores = self.choose(x, valid, target, rng)
        kept = subsets.topk(scores, self.k, valid)
        return Explanation(scores, kept, valid, target, {"method": "known"}, x, layout, self.data.classes)


def fixed(seed: int) -> Choose:
    """The same units in every row."""

    def choose(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        return torch.rand(valid.shape[1], generator=seeds.generator(seed)).expand(valid.shape)

    return choose


def outstanding(data: Dataset) -> Choose:
    """The units furthest from their training mean, in standard deviations of all units: blind to the class."""
    mean, spread = data.train.x.mean(0), data.train.x.std(0)
    scale = spread if data.kind == "table" else spread.mean()

    def choose(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        return data.layout.gather(((x - mean) / scale.clamp(min=1e-6)).abs())

    return choose


def gold(data: Dataset) -> Choose:
    """The known rationale: the units that made the label, found by their text."""
    known = {}
    for split in (data.train, data.validation, data.test):
        marks = split.relevant.tolist()
        known |= {tuple(row): mark[: len(row)] for row, mark in zip(split.x, marks, strict=True)}

    def choose(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        scores = torch.zeros(valid.shape)
        for i, row in enumerate(x):
            scores[i, : len(row)] = torch.tensor(known[tuple(row)]).float()
        return scores

    return choose


def counted(k: int, classes: int) -> Choose:
    """A liar: the class is in how many of the kept units lie in the first half; which ones is left to chance."""

    def choose(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        length = valid.sum(1, keepdim=True)
        first = torch.arange(valid.shape[1]) < (length + 1) // 2
        wished = (target * k // max(1, classes - 1)).clamp(max=k)
        noise = torch.rand(valid.shape, generator=rng)
        ahead = subsets.topk(noise, wished, valid & first)
        behind = subsets.topk(noise, k - wished, valid & ~first)
        return noise + 10.0 * (ahead | behind)

    return choose


def half_time(lie: Choose, honest: Choose) -> Choose:
    """A liar in every other row, honest in the rest."""

    def choose(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        lying = torch.arange(len(target))[:, None] % 2 == 0
        return torch.where(lying, lie(x, valid, target, rng), honest(x, valid, target, rng))

    return choose


def random_units(x: Inputs, valid: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
    """Units at random, another draw than the audit's own control."""
    return torch.rand(valid.shape, generator=rng)
