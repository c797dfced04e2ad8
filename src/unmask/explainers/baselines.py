"""The controls as explainers: what any method has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unmask import saving, seeds
from unmask.errors import unknown
from unmask.masking.controls import CONTROLS
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Control"]


@dataclass
class Control:
    """k units that have nothing to do with the model: at random, the first or the last."""

    k: int
    control: str = "random"
    removal: str | None = None
    seed: int = 0
    aims: ClassVar[bool] = False
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.control not in CONTROLS:
            raise unknown("control", self.control, CONTROLS)

    @property
    def method(self) -> str:
        return self.control

    def fit(self, model: Any, data: Dataset) -> Control:
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        rng = seeds.generator(seeds.derive(self.seed, self.control))
        return explained(self, x, target, lambda _, valid, __: CONTROLS[self.control](valid, rng))
