"""Kernel SHAP: "A Unified Approach to Interpreting Model Predictions", Lundberg & Lee 2017.

Draws in pairs: "Improving KernelSHAP: Practical Shapley Value Estimation Using Linear Regression", Covert & Lee 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.explainers.lime import answers, by_length, check_samples, least_squares
from unmask.masking import subsets
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["KernelSHAP"]


@dataclass
class KernelSHAP:
    """Shapley values of v(S) = p(target | only S shown), by least squares; they sum to v(all) - v(none).

    phi minimises sum_S w(S) (v(S) - v(none) - sum_{j in S} phi_j)^2, w(S) = (d - 1) / (C(d, |S|) |S| (d - |S|)), over
    all subsets where there are at most `samples` (then it is exact), else over draws by that kernel, each with its
    complement. The background is the removal: `marginal` is one of training rows, `mean` and `zero` are single points.
    `origin` tells the share of rows whose values are exact.
    """

    k: int
    samples: int = 2048
    seed: int = 0
    removal: str | None = None
    readings_: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "kernel-shap"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        check_samples(self.samples)

    def fit(self, model: Any, data: Dataset) -> KernelSHAP:
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        scores, exact = torch.zeros(valid.shape), torch.zeros(len(valid))
        for length, rows in by_length(valid):
            exact[rows] = float(self._few(length))
            z, w = _all(length) if self._few(length) else self._pairs(length)
            ends = torch.tensor([[False], [True]]).expand(2, length)
            v = answers(self.task_, rows_of(x, rows), target[rows], torch.cat([ends, z]))
            scores[rows, :length] = _shapley(z.double(), w, v[:, 2:], v[:, :1], v[:, 1:2]).float()
        self.readings_ = {"exact": float(exact.mean())}
        return scores

    def _few(self, length: int) -> bool:
        return bool(2**length - 2 <= self.samples)

    def _pairs(self, length: int) -> tuple[Tensor, Tensor]:
        """Subsets drawn by the kernel, each with its complement; the kernel is in the draws, so all weigh the same."""
        rng = seeds.generator(seeds.derive(self.seed, self.method, length))
        z = subsets.shapley(torch.ones(self.samples // 2, length, dtype=torch.bool), rng)
        return torch.cat([z, ~z]), torch.ones(2 * len(z), dtype=torch.float64)


def _all(length: int) -> tuple[Tensor, Tensor]:
    """Every subset but the empty and the full one, and its weight."""
    number = torch.arange(1, 2**length - 1)
    z = (number[:, None] >> torch.arange(length)) % 2 == 1
    s = torch.arange(1, length)
    ways = torch.tensor([math.comb(length, size) for size in range(1, length)], dtype=torch.float64)
    return z, ((length - 1) / (ways * s * (length - s)))[z.sum(1) - 1]


def _shapley(z: Tensor, w: Tensor, v: Tensor, none: Tensor, full: Tensor) -> Tensor:
    """phi = gain / d + u with sum(u) = 0, which holds of the shortest u that is fitted to centred rows of z."""
    gain, share = full - none, z.mean(1)
    u = least_squares(z - share[:, None], w, v - none - gain * share)
    return gain / z.shape[1] + u
