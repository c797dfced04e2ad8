"""Occlusion: take one unit away and see what the model loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from unmask import saving
from unmask.models import shown
from unmask.task import Task, begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["Occlusion", "without_each"]

CALLS = 16_384  # rows given to the model at once


def without_each(task: Task, x: Inputs, valid: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Every valid unit of every row taken away once: numbers of rows and units, (m, classes) what the model says."""
    row, unit = valid.nonzero(as_tuple=True)  # as one long list
    for r, j in zip(row.split(CALLS), unit.split(CALLS), strict=True):
        kept = valid[r].clone()
        kept[torch.arange(len(r)), j] = False
        yield r, j, shown(task.ready(), task.removal, rows_of(x, r), kept)


@dataclass
class Occlusion:
    """score_j = log p(target | x) - log p(target | x without unit j); one model call for each valid unit."""

    k: int
    removal: str | None = None
    method: ClassVar[str] = "occlusion"
    clone = clone
    save = saving.save

    def fit(self, model: Any, data: Dataset) -> Occlusion:
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        full = self.task_.ready()(x).clamp(min=1e-12).log().gather(1, target[:, None])[:, 0]
        scores = torch.zeros(valid.shape)
        for r, j, said in without_each(self.task_, x, valid):
            scores[r, j] = full[r] - said.clamp(min=1e-12).log().gather(1, target[r, None])[:, 0]
        return scores
