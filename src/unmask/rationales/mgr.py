"""MGR, "MGR: Multi-generator Based Rationalization", Liu et al. 2023: several generators, one predictor.

    predictor:    min  sum_i CE(y, f(x * z_i))
    generator i:  min  CE(y, f(x * z_i)) + excess                          z_i a straight-through Gumbel draw

Generators that start, and learn, differently do not all err the same way: the predictor cannot be locked to one. The
first of them serves in the end. Generator i learns at 1 + i times the rate, the predictor at one over their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.draws import Drawn
from unmask.rationales.networks import Chooser, RationaleNet, built
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["MGR"]


@dataclass
class MGR:
    """`k` units of each row, or a share; with `free` each unit on its own, the budget and few breaks at weight `lam`.
    `tau` is the temperature of draws; `skew` as in RNP.
    """

    k: int | float = 1
    generators: int = 3
    tau: float = 1.0
    free: bool = False
    lam: float = 10.0
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "mgr"
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)
        if self.generators < 1:
            raise InputError(f"generators must be at least 1, got {self.generators}")

    def build(self, task: Task) -> None:
        self.net_ = self._made(task, 0)

    def _made(self, task: Task, i: int) -> RationaleNet:
        seed = seeds.derive(self.recipe.seed, "rationale", i)
        parts = built(task.reader, len(task.classes), self.nets, seed)
        return building.placed(self, RationaleNet(*parts, building.budget(self)))

    def fit(self, data: Dataset) -> MGR:
        lesson = learning.start(self, data)
        more = (building.worded(self, self._made(lesson.task, i)) for i in range(1, self.generators))
        self._others: list[Chooser] = [net.chooser for net in more]
        choosers = [self.net_.chooser, *self._others]
        names = [f"generator {i + 1}" for i in range(len(choosers))]
        players: dict[str, tuple[torch.nn.Module, Callable[[Batch], Tensor]]] = {
            "predictor": (self.net_.teller, self._predicting)
        }
        players |= {name: (chooser, self._choosing(chooser)) for name, chooser in zip(names, choosers, strict=True)}
        rate = self.recipe.rate_of("generator")
        rates = {name: rate * (1 + i) for i, name in enumerate(names)}
        rates["predictor"] = self.recipe.rate_of("predictor") / len(choosers)
        learning.learn(self, lesson, players, rates)
        del self._others
        return self

    def _drawn(self, chooser: torch.nn.Module, batch: Batch) -> Drawn:
        return building.drawn(self, chooser, batch, 0.0, self.tau)

    def _predicting(self, batch: Batch) -> Tensor:
        loss = batch.x.new_zeros((), dtype=torch.float32)
        for chooser in (self.net_.chooser, *self._others):
            with torch.no_grad():
                kept = self._drawn(chooser, batch).kept
            loss = loss + soft_cross_entropy(self.net_.teller(batch.x, kept), batch.y).mean()
        return loss

    def _choosing(self, chooser: torch.nn.Module) -> Callable[[Batch], Tensor]:
        def loss(batch: Batch) -> Tensor:
            drawn = self._drawn(chooser, batch)
            found = soft_cross_entropy(self.net_.teller(batch.x, drawn.kept), batch.y)
            return (found + self.lam * drawn.excess).mean()

        return loss
