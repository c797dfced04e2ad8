"""RNP, "Rationalizing Neural Predictions", Lei et al. 2016: a generator chooses, a predictor reads only what is chosen.

    predictor:  min  CE(y, f(x * z))                                      z ~ pi, the generator's law
    generator:  max  E_z[-tanh CE(y, f(x * z))]                           by REINFORCE, or through a relaxed draw

For a perfect predictor the loss is concave in pi (Yu et al. 2021): each corner, "always this sentence", can be a trap
that the two lock each other into.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, learning
from unmask.rationales.building import Batch
from unmask.rationales.draws import Drawn
from unmask.rationales.networks import RationaleNet, built
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["RNP", "USUAL"]

USUAL = Recipe(epochs=12, batch=learning.BATCH, rate={"predictor": 2e-3, "generator": 2e-3})
REMEMBERED = 200  # rewards of batches, whose mean is what a reward is measured against


@dataclass
class RNP:
    """`k` units of each row, or a share. `gradient`: "reinforce", or "straight-through" (Gumbel, temperature `tau`).

    With `free`, each unit is chosen on its own, and the budget and few breaks are wanted at weight `lam`. Draws
    explore: at rate `explore` all units are equally likely. `skew` epochs of the predictor on the first sentence (or
    unit) alone plant an interlocking; where it is 0, the data may ask for it (`reviews:skew=10`).
    """

    k: int | float = 1
    gradient: Literal["reinforce", "straight-through"] = "reinforce"
    explore: float = 0.2
    tau: float = 1.0
    free: bool = False
    lam: float = 1.0
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "rnp"
    _rewards: deque[float] = field(default_factory=lambda: deque([0.0], REMEMBERED), init=False, repr=False)
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)
        if self.gradient not in ("reinforce", "straight-through"):
            raise InputError(f"gradient must be reinforce or straight-through, got {self.gradient!r}")

    def build(self, task: Task) -> None:
        parts = built(task.reader, len(task.classes), self.nets, seeds.derive(self.recipe.seed, "rationale"))
        self.net_ = building.placed(self, RationaleNet(*parts, building.budget(self)))

    def fit(self, data: Dataset) -> RNP:
        lesson = learning.start(self, data)
        self._rewards = deque([0.0], REMEMBERED)
        players = {
            "predictor": (self.net_.teller, self._predicting),
            "generator": (self.net_.chooser, self._choosing),
        }
        learning.learn(self, lesson, players)
        return self

    def drawn(self, batch: Batch) -> Drawn:
        return building.drawn(self, self.net_.chooser, batch, self.explore, self.tau)

    def _predicting(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            kept = self.drawn(batch).kept
        return soft_cross_entropy(self.net_.teller(batch.x, kept), batch.y).mean()

    def _choosing(self, batch: Batch) -> Tensor:
        drawn = self.drawn(batch)
        if self.gradient == "straight-through":
            loss = soft_cross_entropy(self.net_.teller(batch.x, drawn.kept), batch.y)
            return (loss + self.lam * drawn.excess).mean()
        with torch.no_grad():
            loss = soft_cross_entropy(self.net_.teller(batch.x, drawn.kept.detach()), batch.y)
            reward = -loss.tanh() - self.lam * drawn.excess
        return learning.reinforced(drawn.log_prob, reward, self._rewards)
