"""HardKuma, "Interpretable Neural Predictions with Differentiable Binary Variables", Bastings et al. 2019.

Each unit has a gate z in [0, 1]: a Kumaraswamy variable, stretched beyond both ends and clipped, so that just 0 and 1
have probability of their own, and slopes pass through the rest. How many gates open is held to the budget:

    all:  min  CE(y, f(x * z)) + lam_0 (E[open] - budget) + lam_1 (E[changes] - few)

with expectations in closed form and multipliers that grow while their constraint is broken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from torch import Tensor, nn

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.kuma import Kuma
from unmask.rationales.networks import RationaleNet, built
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe
from unmask.types import Dataset, Inputs

__all__ = ["HardKuma"]

RANGE = (1e-12, 5.0)  # of a multiplier


@dataclass
class HardKuma:
    """`k` units of each row, or a share, on average; `changes` between neighbours, as a share of the units, are free.

    A multiplier is changed by exp(`step` times what is broken) at each batch. A gate that settles between closed and
    open is read as open: how far it is open would tell of units that are left out. With `between="mean"` it is read at
    its mean, as published. `nets.smooth` has no part in it. `skew` as in RNP.
    """

    k: int | float = 1
    changes: float = 1.0
    step: float = 0.05
    first: float = 1e-5  # both multipliers at the start
    between: Literal["open", "mean"] = "open"
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "hardkuma"
    _hold: dict[str, list[float]] = field(default_factory=dict, init=False, repr=False)  # multiplier, running mean
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)
        if not 0 < self.changes <= 1 or self.step < 0:
            raise InputError(
                f"changes must be above 0 and at most 1, step not negative; got {self.changes} and {self.step}"
            )
        if self.between not in ("open", "mean"):
            raise InputError(f"between must be open or mean, got {self.between!r}")
        if self.nets.spans is not None:
            raise InputError("hardkuma's gates are not held to a number of spans; give it fewer changes instead")

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        parts = built(task.reader, len(task.classes), self.nets, seed, outputs=2)
        self.net_ = building.placed(self, RationaleNet(*parts, self._settled))

    def fit(self, data: Dataset) -> HardKuma:
        lesson = learning.start(self, data)
        self._hold = {name: [self.first, 0.0] for name in ("open", "changes")}
        learning.learn(self, lesson, {"predictor": (self.net_, self._loss)})
        return self

    def softly(self, x: Inputs) -> Tensor:
        """(n, classes) probabilities told through gates at their means, where the answer settles them."""
        return answering.asked(self, x, _half_open)

    def _loss(self, batch: Batch) -> Tensor:
        law = _law(self.net_.chooser(batch.x))
        kept, length = law.sample(batch.rng) * batch.valid, batch.valid.sum(1).clamp(min=1)
        open_ = (1 - law.closed) * batch.valid
        wanted = choosing.number(self.k, batch.valid) / length
        loss = building.told_twice(self.net_, batch, kept, self._as_read(kept.detach())).mean()
        loss = loss + self._held("open", (open_.sum(1) / length - wanted).mean())
        both = batch.valid[:, 1:] & batch.valid[:, :-1]
        a, b = open_[:, 1:], open_[:, :-1]
        change = ((a * (1 - b) + b * (1 - a)) * both).sum(1) / length
        return loss + self._held("changes", (change - self.changes).mean())

    def _as_read(self, amount: Tensor) -> Tensor:
        return amount if self.between == "mean" else (amount > 0).to(amount)

    def _settled(self, raw: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        law = _law(raw)
        return 1 - law.closed, self._as_read(law.settled() * valid)

    def _held(self, name: str, broken: Tensor) -> Tensor:
        """The multiplier times what is broken; both follow a running mean of it."""
        multiplier, mean = self._hold[name]
        mean = 0.5 * mean + 0.5 * float(broken.detach())
        multiplier = min(max(multiplier * math.exp(self.step * mean), RANGE[0]), RANGE[1])
        self._hold[name] = [multiplier, mean]
        return multiplier * broken


def _law(raw: Tensor) -> Kuma:
    a, b = nn.functional.softplus(raw.float()).clamp(1e-6, 100.0).unbind(-1)
    return Kuma(a, b)


def _half_open(net: RationaleNet, x: Tensor) -> Tensor:
    return net.teller(x, _law(net.chooser(x)).mean * net.reader.valid(x))  # type: ignore[no-any-return]
