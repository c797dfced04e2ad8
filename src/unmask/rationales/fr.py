"""FR, "FR: Folded Rationalization with a Unified Encoder", Liu et al. 2022: who chooses reads as who tells does.

    generator and predictor, one encoder:  min  CE(y, f(x * z)) + excess      z a straight-through Gumbel draw

An encoder that must serve the predictor cannot favour units that it has not understood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from unmask import saving, seeds
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.networks import RationaleNet, folded
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe
from unmask.types import Dataset

__all__ = ["FR"]


@dataclass
class FR:
    """`k` units of each row, or a share; with `free` each unit on its own, the budget and few breaks at weight `lam`.
    `tau` is the temperature of draws; `skew` as in RNP.
    """

    k: int | float = 1
    tau: float = 1.0
    explore: float = 0.0
    free: bool = False
    lam: float = 10.0
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "fr"
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        parts = folded(task.reader, len(task.classes), self.nets, seed)
        self.net_ = building.placed(self, RationaleNet(*parts, building.budget(self)))

    def fit(self, data: Dataset) -> FR:
        lesson = learning.start(self, data)
        learning.learn(self, lesson, {"predictor": (self.net_, self._loss)})
        return self

    def _loss(self, batch: Batch) -> Tensor:
        drawn = building.drawn(self, self.net_.chooser, batch, self.explore, self.tau)
        loss = building.told_twice(self.net_, batch, drawn.kept)
        return (loss + self.lam * drawn.excess).mean()
