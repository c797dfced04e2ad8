"""HardKuma, "Interpretable Neural Predictions with Differentiable Binary Variables", Bastings et al. 2019.

Each unit has a gate z in [0, 1]: a Kumaraswamy variable, stretched beyond both ends and clipped, so that just 0 and 1
have probability of their own, and slopes pass through the rest. How many gates open is held to the budget:

    all:  min  CE(y, f(x * z)) + lam_0 (E[open] - budget) + lam_1 (E[changes] - few)

with expectations in closed form and multipliers that grow while their constraint is broken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import answering, choosing, learning
from unmask.rationales.learning import Batch
from unmask.rationales.networks import RationaleNet, built
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["HardKuma", "Kuma"]

LOW, HIGH = -0.1, 1.1  # the stretch
EDGE = 1e-3  # of the uniform noise
RANGE = (1e-12, 5.0)  # of a multiplier


@dataclass(frozen=True)
class Kuma:
    """Stretched and clipped Kumaraswamy variables with shapes `a` and `b`."""

    a: Tensor
    b: Tensor

    def sample(self, rng: torch.Generator) -> Tensor:
        u = torch.rand(self.a.shape, generator=rng, device=rng.device).to(self.a).clamp(EDGE, 1 - EDGE)
        return self._stretched((1 - (1 - u) ** (1 / self.b)).clamp(1e-6, 1 - 1e-6) ** (1 / self.a))

    def _stretched(self, t: Tensor) -> Tensor:
        return (LOW + (HIGH - LOW) * t).clamp(0.0, 1.0)

    def _below(self, t: float) -> Tensor:
        """The probability that the variable, before the stretch, is at most t."""
        return 1 - (1 - torch.tensor(t, device=self.a.device) ** self.a).clamp(1e-7, 1.0) ** self.b

    @property
    def closed(self) -> Tensor:
        """P(z = 0)."""
        return self._below(-LOW / (HIGH - LOW))

    @property
    def full(self) -> Tensor:
        """P(z = 1)."""
        return 1 - self._below((1 - LOW) / (HIGH - LOW))

    @property
    def mean(self) -> Tensor:
        """The mean before the stretch, b B(1 + 1/a, b), stretched: what counts where neither end is most likely."""
        log = self.b.log() + torch.lgamma(1 + 1 / self.a) + torch.lgamma(self.b)
        return self._stretched((log - torch.lgamma(1 + 1 / self.a + self.b)).exp())

    def settled(self) -> Tensor:
        """Without noise: 0, 1, or the mean, whichever law (closed, full, in between) is the most likely."""
        between = 1 - self.closed - self.full
        ends = (self.full > self.closed).to(self.a)
        return torch.where(between > torch.maximum(self.closed, self.full), self.mean, ends)


@dataclass
class HardKuma:
    """`k` units of each row, or a share, on average; `changes` between neighbours, as a share of the units, are free.

    A multiplier is changed by exp(`step` times what is broken) at each batch. `skew` as in RNP.
    """

    k: int | float = 1
    changes: float = 1.0
    step: float = 0.05
    first: float = 1e-5  # both multipliers at the start
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "hardkuma"
    _hold: dict[str, list[float]] = field(default_factory=dict, init=False, repr=False)  # multiplier, running mean
    clone = clone
    save = saving.save
    predict, told = answering.predict, answering.told
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self.k)
        if not 0 < self.changes <= 1 or self.step < 0:
            raise InputError(
                f"changes must be above 0 and at most 1, step not negative; got {self.changes} and {self.step}"
            )

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        parts = built(task.reader, len(task.classes), self.nets, seed, outputs=2, drops=False)
        self.net_ = learning.placed(self, RationaleNet(*parts, _settled))

    def fit(self, data: Dataset) -> HardKuma:
        lesson = learning.begin(self, data)
        self.build(lesson.task)
        learning.skewed(self, self.net_.teller, lesson)
        self._hold = {name: [self.first, 0.0] for name in ("open", "changes")}
        learning.learn(self, lesson, {"predictor": (self.net_, self._loss)})
        return self

    def _loss(self, batch: Batch) -> Tensor:
        law = _law(self.net_.chooser(batch.x))
        kept, length = law.sample(batch.rng) * batch.valid, batch.valid.sum(1).clamp(min=1)
        open_ = (1 - law.closed) * batch.valid
        wanted = choosing.number(self.k, batch.valid) / length
        loss = soft_cross_entropy(self.net_.teller(batch.x, kept), batch.y).mean()
        loss = loss + self._held("open", (open_.sum(1) / length - wanted).mean())
        both = batch.valid[:, 1:] & batch.valid[:, :-1]
        a, b = open_[:, 1:], open_[:, :-1]
        change = ((a * (1 - b) + b * (1 - a)) * both).sum(1) / length
        return loss + self._held("changes", (change - self.changes).mean())

    def _held(self, name: str, broken: Tensor) -> Tensor:
        """The multiplier times what is broken; both follow a running mean of it."""
        multiplier, mean = self._hold[name]
        mean = 0.5 * mean + 0.5 * float(broken.detach())
        multiplier = min(max(multiplier * math.exp(self.step * mean), RANGE[0]), RANGE[1])
        self._hold[name] = [multiplier, mean]
        return multiplier * broken


def _law(raw: Tensor) -> Kuma:
    a, b = nn.functional.softplus(raw).clamp(1e-6, 100.0).unbind(-1)
    return Kuma(a, b)


def _settled(raw: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    law = _law(raw)
    return 1 - law.closed, law.settled() * valid
