"""REAL-X: "Have We Learned to Explain?", Jethani, Sudarshan, Aphinyanaphongs & Ranganath 2021.

Stage 1: the predictor f learns the answer from randomly masked rows, fresh masks at every step, and is frozen: no code
between the two networks can come about. Stage 2: the selector learns a chance pi_j(x) for each unit,

    max  E_s log p_f(s) - lam mean_j pi_j,      log p_f(m) = sum_c p_c log f_c(x * m)

by REBAR: with a hard draw s, the relaxed z it comes from and a relaxed z~ drawn given s, the gradient of

    (log p_f(s) - log p_f(z~)).detach() log q(s) + log p_f(z) - log p_f(z~) - lam mean_j pi_j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving
from unmask.errors import InputError
from unmask.explainers import learned
from unmask.explainers.pretraining import pretrain
from unmask.explainers.watch import Watch
from unmask.judge import Draw, mixed_sizes
from unmask.masking import subsets
from unmask.masking.relax import log_bernoulli, rebar
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, minimize, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["REALX"]

PRICE = 0.01  # nats
OFFSET = 1e-5  # inside the logarithms of the chances, as published


@dataclass
class REALX:
    """`masks` is what f learns from: "bernoulli", each unit with chance one half, as published, or "mixed", half
    k-subsets and half subsets of any size, so that f has seen masks like those it is asked about: with it the model
    agreed with the selection more often on validation rows.

    `lam` and `k` are two things: training keeps as many units as pay for themselves, explaining keeps the k likeliest;
    the reading "units" is how many have a chance above one half. Without `lam` a unit costs `PRICE` nats, however many
    there are. Scores are the logits of pi.
    Published: Adam 1e-4, 500 epochs of 1000 rows, weight decay 1e-3, lam 5 for 784 pixels, which is 0.0064 a unit.
    """

    k: int
    lam: float | None = None
    tau: float = 0.1
    masks: Literal["bernoulli", "mixed"] = "mixed"
    removal: str | None = None
    feedback: bool = False
    recipe: Recipe = Recipe(epochs=60, batch=128, rate=1e-3, decay=1e-4, patience=10)
    device: str = "auto"
    method: ClassVar[str] = "real-x"
    cure: ClassVar[None] = None  # stage 1 is one
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if self.lam is not None and not self.lam >= 0:
            raise InputError(f"lam must not be negative, got {self.lam}")
        if self.masks not in ("bernoulli", "mixed"):
            raise InputError(f"masks must be bernoulli or mixed, got {self.masks!r}")

    def build(self, task: Task) -> None:
        self.selector_, self.approximator_ = learned.networks(self, task)

    def fit(self, model: Any, data: Dataset) -> REALX:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        pretrain(self, self.approximator_, lesson, self._law())
        watch = Watch(self, lesson, lambda found: found["log-likelihood"])
        game = {"selector": (self.selector_, self._loss)}
        self.history_ = minimize(game, lesson.train.rows, self.recipe, score=watch, title=self.method)
        self.task_, self.curve_, self.readings_ = lesson.task, watch.curve, watch.finish()
        return self

    def _law(self) -> Draw:
        return mixed_sizes(self.k) if self.masks == "mixed" else _coins

    def _loss(self, x: Tensor, p: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        logits: Tensor = self.selector_(x, None, p if self.feedback else None)
        z, s, again = rebar(logits, self.tau, rng, valid)
        at_z, at_s, at_again = (-soft_cross_entropy(self.approximator_(x, m), p) for m in (z, s, again))
        reward = (at_s - at_again).detach()
        lam = PRICE * valid.sum(1) if self.lam is None else self.lam
        cost = lam * (logits.sigmoid() * valid).sum(1) / valid.sum(1)  # lam mean_j pi_j
        value = reward * log_bernoulli(logits, s, valid, OFFSET) + at_z - at_again - cost
        return -value.mean()


def _coins(valid: Tensor, rng: torch.Generator) -> Tensor:
    return subsets.bernoulli(valid, 0.5, rng)
