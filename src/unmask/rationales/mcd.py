"""MCD, "D-Separation for Causal Self-Explanation", Liu et al. 2023: given the rationale, the rest should add nothing.

    predictor:  min  CE(y, f(x * z)) + CE(y, f(x))
    generator:  min  KL(f(x) || f(x * z)) + excess                         z a straight-through Gumbel draw

What merely goes with the cause adds to the likelihood, but does not make y independent of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unmask import distances, saving, seeds
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.draws import Drawn
from unmask.rationales.networks import RationaleNet, built
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["MCD"]


@dataclass
class MCD:
    """`k` units of each row, or a share; with `free` each unit on its own, the budget and few breaks at weight `lam`.
    `tau` is the temperature of draws; `skew` as in RNP.
    """

    k: int | float = 1
    tau: float = 1.0
    free: bool = False
    lam: float = 6.0
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "mcd"
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        parts = built(task.reader, len(task.classes), self.nets, seed)
        self.net_ = building.placed(self, RationaleNet(*parts, building.budget(self)))

    def fit(self, data: Dataset) -> MCD:
        lesson = learning.start(self, data)
        players = {
            "predictor": (self.net_.teller, self._predicting),
            "generator": (self.net_.chooser, self._choosing),
        }
        learning.learn(self, lesson, players)
        return self

    def _drawn(self, batch: Batch) -> Drawn:
        return building.drawn(self, self.net_.chooser, batch, 0.0, self.tau)

    def _predicting(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            kept = self._drawn(batch).kept
        part, whole = (self.net_.teller(batch.x, mask) for mask in (kept, batch.valid.to(kept)))
        return (soft_cross_entropy(part, batch.y) + soft_cross_entropy(whole, batch.y)).mean()

    def _choosing(self, batch: Batch) -> Tensor:
        drawn = self._drawn(batch)
        with torch.no_grad():
            whole = self.net_.teller(batch.x, batch.valid.to(drawn.kept))
        lost = distances.kl_logits(whole, self.net_.teller(batch.x, drawn.kept))
        return (lost + self.lam * drawn.excess).mean()
