"""VIBI: "Explaining a black-box using Deep Variational Information Bottleneck Approach", Bang et al. 2021.

Maximise I(t; y) - beta I(x; t) for t = z * x, z a k-hot draw from p(z|x): cross-entropy of the model's class plus
beta k KL(p(z|x) || uniform), which keeps the choice from saying more than it must.
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
from unmask.masking.relax import DRAWS, log_softmax
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["VIBI"]


@dataclass
class VIBI:
    """`legacy` is the released sampler: the least likely unit is drawn most often, and no gradient of the prediction
    reaches the selector, which then only learns to be uniform; its KL runs from the prior. Kept to show what it does.
    """

    k: int
    tau: float = 0.5
    beta: float = 0.1
    draw: Literal["k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"] = "k-hot"
    legacy: bool = False
    removal: str | None = None
    feedback: bool = False
    cure: str | None = None
    recipe: Recipe = Recipe(40, batch=50, rate=1e-4, optimizer="adam-half", patience=10, fade=0.97, average=0.999)
    device: str = "auto"
    method: ClassVar[str] = "vibi"
    readers: ClassVar[dict[str, str]] = {"approximator_": "kept"}
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if not self.beta >= 0:
            raise InputError(f"beta must not be negative, got {self.beta}")

    def build(self, task: Task) -> None:
        self.selector_, self.approximator_ = learned.networks(self, task)

    def fit(self, model: Any, data: Dataset) -> VIBI:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        self.readings_ = cures.train(self, lesson, lambda found: found["approximator"], together=True)
        return self

    def drawing(self, batch: Batch, scores: Tensor) -> Tensor:
        relax = DRAWS[self.draw]
        if not self.legacy:
            return relax(scores, self.k, self.tau, batch.rng, batch.valid)
        inverted = (-log_softmax(scores, batch.valid)).clamp(min=1e-6).log()  # log-probabilities as probabilities
        return relax(inverted, self.k, self.tau, batch.rng, batch.valid).detach()

    def choosing(self, batch: Batch, v: Tensor) -> Tensor:
        told = soft_cross_entropy(self.approximator_(batch.x, v), batch.p.argmax(1))
        choice = log_softmax(torch.as_tensor(batch.scores), batch.valid)
        return told + self.beta * self.k * self._divergence(choice, batch.valid)

    def _divergence(self, log_choice: Tensor, valid: Tensor) -> Tensor:
        """KL(p || uniform) = log d + sum_j p_j log p_j over the valid units; `legacy` KL(uniform || p)."""
        units = valid.sum(1).clamp(min=1)
        terms = log_choice.masked_fill(~valid, 0.0)
        if self.legacy:
            return -units.log() - terms.sum(1) / units
        return units.log() + (log_choice.exp() * terms).sum(1)
