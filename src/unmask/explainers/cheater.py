"""The standing negative control: an explainer that lies.

It knows the model's answer and writes it into *which* units it keeps, all of them as uninformative as it can find. An
approximator or a reader who knows the code recovers the class from the mask; the shown values tell nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask import saving, seeds
from unmask.data.telling import telling
from unmask.task import Task, begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Cheater"]

TRIES = 200  # draws of units for a class until no other class has the same; there may be too few units for that


class Code(nn.Module):
    """`tells`: how much each column, pixel or word says about the class; `member`: which of them spell which class."""

    tells: Tensor  # (units,) or (vocabulary,)
    member: Tensor  # (classes, units) or (classes, vocabulary)

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("tells", torch.zeros(size))
        self.register_buffer("member", torch.zeros(classes, size, dtype=torch.bool))


@dataclass
class Cheater:
    """Class c keeps its own k of the 2k least telling units; in texts, the least telling words of its own half-list."""

    k: int
    removal: str | None = None
    seed: int = 0
    method: ClassVar[str] = "cheater"
    clone = clone
    save = saving.save

    def build(self, task: Task) -> None:
        vocabulary = task.reader.vocabulary
        self.code_ = Code(task.reader.layout.d if vocabulary is None else len(vocabulary), len(task.classes))

    def fit(self, model: Any, data: Dataset) -> Cheater:
        task = begin(model, data, self.k, self.removal)
        self.build(task)
        x, answer = task.reader.prepare(data.train.x), task.ready()(data.train.x).argmax(1)
        tells = telling(task.reader, x, answer, len(task.classes))
        self.code_.tells.copy_(tells)
        self.code_.member.copy_(self._membership(tells, len(task.classes), data.layout.is_text))
        self.task_ = task
        return self

    def _membership(self, tells: Tensor, classes: int, is_text: bool) -> Tensor:
        member = torch.zeros(classes, len(tells), dtype=torch.bool)
        order = tells.argsort(stable=True)
        if is_text:  # deal the words out to the classes, least telling first
            member[torch.arange(len(tells)) % classes, order] = True
            return member
        pool, rng = order[: max(2 * self.k, self.k + classes)], seeds.generator(seeds.derive(self.seed, "code"))
        for c in range(classes):
            for _ in range(TRIES):
                member[c] = False
                member[c, pool[torch.randperm(len(pool), generator=rng)[: self.k]]] = True
                if not bool((member[:c] == member[c]).all(1).any()):
                    break
        return member

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        code, layout = self.code_, self.task_.reader.layout
        quiet = -code.tells / code.tells.max().clamp(min=1e-9)  # in [-1, 0]
        if not layout.is_text:
            return quiet + 2.0 * code.member[target]
        ids = self.task_.reader.prepare(x)
        spelled = code.member[target[:, None], ids.flatten(1)].view(ids.shape)
        score = quiet[ids] + 2.0 * spelled
        return score if layout.kind == "words" else (score * (ids != 0)).sum(-1) / (ids != 0).sum(-1).clamp(min=1)
