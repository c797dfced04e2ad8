"""Occlusion: take one unit away and see what the model loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from unmask.explainers import saving
from unmask.explainers.task import begin, clone, explained
from unmask.models import shown
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["Occlusion"]

CALLS = 16_384  # rows given to the model at once


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
        model, removal = self.task_.ready(), self.task_.removal
        full = model(x).clamp(min=1e-12).log().gather(1, target[:, None])[:, 0]
        row, unit = valid.nonzero(as_tuple=True)  # every unit of every row, as one long list
        scores = torch.zeros(valid.shape)
        for r, j in zip(row.split(CALLS), unit.split(CALLS), strict=True):
            kept = valid[r].clone()
            kept[torch.arange(len(r)), j] = False
            left = shown(model, removal, rows_of(x, r), kept).clamp(min=1e-12).log()
            scores[r, j] = full[r] - left.gather(1, target[r, None])[:, 0]
        return scores
