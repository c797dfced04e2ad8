"""INVASE: "Instance-wise Variable Selection using Neural Networks", Yoon et al. 2019.

The selector gives each unit a chance pi_j(x) of being kept; s is a hard draw, each unit on its own. In turns,

    predictor f, baseline b:  min  CE(p, f(x * s)) + CE(p, b(x))
    selector:                 min  -R sum_j (s_j log pi_j + (1 - s_j) log(1 - pi_j)) + lam mean_j pi_j

where the reward R is the log-likelihood of f less that of b, and p the model's answer. Nothing flows back through s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving
from unmask.errors import InputError
from unmask.explainers import cures, learned
from unmask.explainers.learned import Batch
from unmask.masking import subsets
from unmask.masking.relax import log_bernoulli
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["INVASE"]

OFFSET = 1e-8  # inside the logarithms of the chances, as published


@dataclass
class INVASE:
    """`lam` prices the kept units, `baseline=False` is INVASE-minus: R is the log-likelihood of f alone.

    `lam` and `k` are two things: training keeps as many units as pay for themselves, explaining keeps the k likeliest.
    The reading "units" is how many have a chance above one half, the published rule; scores are the logits of pi.
    Published: Adam 1e-4 for 10,000 steps of 1000 rows, weight decay 1e-3; the rate here is higher, the steps are fewer.
    """

    k: int
    lam: float = 0.1
    baseline: bool = True
    activation: Literal["relu", "selu"] = "relu"
    removal: str | None = None
    feedback: bool = False
    cure: str | None = None
    recipe: Recipe = Recipe(epochs=60, batch=128, rate=1e-3, decay=1e-3, patience=15)
    device: str = "auto"
    method: ClassVar[str] = "invase"
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if not self.lam >= 0:
            raise InputError(f"lam must not be negative, got {self.lam}")

    @property
    def readers(self) -> dict[str, str]:
        return {"approximator_": "kept", **({"baseline_": "all"} if self.baseline else {})}

    def build(self, task: Task) -> None:
        self.selector_, self.approximator_ = learned.networks(self, task)
        if self.baseline:
            self.baseline_ = learned.placed(self, learned.reader_net(self, task, "baseline"))

    def fit(self, model: Any, data: Dataset) -> INVASE:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        self.readings_ = cures.train(self, lesson, lambda found: found["log-likelihood"])
        return self

    def drawing(self, batch: Batch, scores: Tensor) -> Tensor:
        return subsets.bernoulli(batch.valid, scores.detach().sigmoid(), batch.rng).to(scores)

    def reading(self, batch: Batch, s: Tensor) -> Tensor:
        loss = soft_cross_entropy(self.approximator_(batch.x, s), batch.p)
        return loss + soft_cross_entropy(self.baseline_(batch.x), batch.p) if self.baseline else loss

    def choosing(self, batch: Batch, s: Tensor) -> Tensor:
        logits, valid = batch.scores, batch.valid
        assert logits is not None
        cost = (logits.sigmoid() * valid).sum(1) / valid.sum(1)  # mean_j pi_j
        return self.lam * cost - self._reward(batch, s) * log_bernoulli(logits, s, valid, OFFSET)

    @torch.no_grad()
    def _reward(self, batch: Batch, s: Tensor) -> Tensor:
        """(b,) R; the networks answer as they do when asked, without dropout."""
        reward = -soft_cross_entropy(self.approximator_.eval()(batch.x, s), batch.p)
        return reward + soft_cross_entropy(self.baseline_.eval()(batch.x), batch.p) if self.baseline else reward
