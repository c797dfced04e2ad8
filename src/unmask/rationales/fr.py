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
from unmask.rationales import answering, choosing, learning
from unmask.rationales.learning import Batch
from unmask.rationales.networks import RationaleNet, folded
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
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
    predict, told = answering.predict, answering.told
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self.k)

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        parts = folded(task.reader, len(task.classes), self.nets, seed)
        choose = learning.gated if self.free else learning.budget(self)
        self.net_ = learning.placed(self, RationaleNet(*parts, choose))

    def fit(self, data: Dataset) -> FR:
        lesson = learning.begin(self, data)
        self.build(lesson.task)
        learning.skewed(self, self.net_.teller, lesson)
        learning.learn(self, lesson, {"predictor": (self.net_, self._loss)})
        return self

    def _loss(self, batch: Batch) -> Tensor:
        way = choosing.gates if self.free else choosing.draw
        drawn = way(self.net_.chooser(batch.x), batch.valid, self.k, self.explore, batch.rng, self.tau)
        loss = soft_cross_entropy(self.net_.teller(batch.x, drawn.kept), batch.y)
        return (loss + self.lam * drawn.excess).mean()
