"""Attention as it is: the weights of the model itself, as scores.

"Attention is not Explanation", Jain & Wallace 2019, and what followed: whether these scores deserve belief is for the
audit to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unmask import saving
from unmask.attention.lessons import looked, protocol
from unmask.task import Task, begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Attention"]


@dataclass
class Attention:
    """For models with `attend` and `answer`, or wrapped with the name of the submodule that gives out the weights."""

    k: int
    removal: str | None = None
    method: ClassVar[str] = "attention"
    clone = clone
    save = saving.save

    def fit(self, model: Any, data: Dataset) -> Attention:
        task = begin(model, data, self.k, self.removal)
        protocol(task.ready(), data.train.x)
        self.task_: Task = task
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        def score(x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
            model = self.task_.ready()
            return looked(protocol(model, x), model.feed(x))[1]

        return explained(self, x, target, score)
