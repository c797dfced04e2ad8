"""3PLAYER, "Rethinking Cooperative Rationalization", Yu et al. 2019: what is left out should tell nothing.

A third player predicts from the complement of the rationale, and the generator is rewarded for beating it:

    predictor:   min  CE(y, f(x * z))
    complement:  min  CE(y, g(x * (1 - z)))
    generator:   max  E_z[0.1 a + 1.2 (a - b) - excess]                   a, b: whether f and g are right, 0 or 1
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.draws import Drawn
from unmask.rationales.networks import RationaleNet, built
from unmask.rationales.rnp import REMEMBERED, USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["ThreePlayer"]

RIGHT, AHEAD = 0.1, 1.2  # what being right is worth, and being right where the complement is wrong, as published


@dataclass
class ThreePlayer:
    """`k` units of each row, or a share; with `free` each unit on its own, the budget and few breaks at weight `lam`.
    Draws explore at rate `explore`; `skew` as in RNP.
    """

    k: int | float = 1
    explore: float = 0.05
    free: bool = False
    lam: float = 1.0
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "three-player"
    _rewards: deque[float] = field(default_factory=lambda: deque([0.0], REMEMBERED), init=False, repr=False)
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)

    def build(self, task: Task) -> None:
        self.net_ = self._made(task, "rationale")

    def _made(self, task: Task, name: str) -> RationaleNet:
        parts = built(task.reader, len(task.classes), self.nets, seeds.derive(self.recipe.seed, name))
        return building.placed(self, RationaleNet(*parts, building.budget(self)))

    def fit(self, data: Dataset) -> ThreePlayer:
        lesson = learning.start(self, data)
        self._rest = building.worded(self, self._made(lesson.task, "complement")).teller
        self._rewards = deque([0.0], REMEMBERED)
        players = {
            "predictor": (self.net_.teller, self._predicting),
            "complement": (self._rest, self._opposing),
            "generator": (self.net_.chooser, self._choosing),
        }
        as_predictor = {"predictor": "predictor", "complement": "predictor", "generator": "generator"}
        learning.learn(self, lesson, players, {name: self.recipe.rate_of(of) for name, of in as_predictor.items()})
        del self._rest
        return self

    def _drawn(self, batch: Batch) -> Drawn:
        return building.drawn(self, self.net_.chooser, batch, self.explore)

    def _predicting(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            kept = self._drawn(batch).kept
        return soft_cross_entropy(self.net_.teller(batch.x, kept), batch.y).mean()

    def _opposing(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            kept = self._drawn(batch).kept
        return soft_cross_entropy(self._rest(batch.x, batch.valid.to(kept) - kept), batch.y).mean()

    def _choosing(self, batch: Batch) -> Tensor:
        drawn = self._drawn(batch)
        with torch.no_grad():
            kept = drawn.kept.detach()
            right = (self.net_.teller(batch.x, kept).argmax(1) == batch.y).float()
            left = (self._rest(batch.x, batch.valid.to(kept) - kept).argmax(1) == batch.y).float()
            reward = RIGHT * right + AHEAD * (right - left) - self.lam * drawn.excess
        return learning.reinforced(drawn.log_prob, reward, self._rewards)
