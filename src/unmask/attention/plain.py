"""Attention as it is: the weights of the model itself, as scores.

"Attention is not Explanation", Jain & Wallace 2019, and what followed: whether these scores deserve belief is for the
audit to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from unmask import saving
from unmask.attention.lessons import looked, protocol
from unmask.task import Task, begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Attention"]


@dataclass
class Attention:
    """For models with `attend` and `answer`, or wrapped with the name of the submodule that gives out the weights.

    Of a Hugging Face model it is what the first token pays in the last layer, mean over heads, summed over the pieces
    of a word.
    """

    k: int
    removal: str | None = None
    method: ClassVar[str] = "attention"
    aims: ClassVar[bool] = False
    clone = clone
    save = saving.save

    def fit(self, model: Any, data: Dataset) -> Attention:
        task = begin(model, data, self.k, self.removal)
        if task.ready().pieces is None:
            protocol(task.ready(), data.train.x)
        self.task_: Task = task
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        def score(x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
            model = self.task_.ready()
            if model.pieces is not None:
                return attended(self.task_, x, valid.shape[1])
            return looked(protocol(model, x), model.feed(x))[1]

        return explained(self, x, target, score)


def attended(task: Task, x: Inputs, d: int) -> Tensor:
    """(n, d) attention to words of a model that reads pieces of them."""
    model, found = task.ready(), []
    for start in range(0, len(x), model.batch):
        packed = model.feed(x[start : start + model.batch])
        found.append(model.pieces.gather(model.pieces.attended(model.module, packed), packed, d))
    return torch.cat(found)
