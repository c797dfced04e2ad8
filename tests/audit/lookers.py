"""Models of which it is known where they look and by which words they decide."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from audit.cases import planted, small_case
from unmask import seeds
from unmask.audit.case import Case, Subject
from unmask.masking import subsets
from unmask.models import bind, wrap
from unmask.models.attending import attentive, looked
from unmask.nets import Reader, read
from unmask.nets.attention import masked_softmax
from unmask.types import Explanation

HOWS = ("honest", "hiding", "even", "last")


class Looker(nn.Module):
    """Decides by "good" and "bad" alone. `how` it looks: at them, away from them, at all words, at the last word.

    Only where it is honest or even must a word be looked at to count: otherwise every state knows the whole text.
    """

    def __init__(self, reader: Reader, how: str, sharp: float = 10.0) -> None:
        super().__init__()
        self.reader, self.how, self.sharp = reader, how, sharp
        assert reader.vocabulary is not None
        self.table = nn.Embedding(len(reader.vocabulary), 2)
        ids = reader.vocabulary.ids
        with torch.no_grad():
            self.table.weight.zero_()
            self.table.weight[ids["good"], 0] = 1.0
            self.table.weight[ids["bad"], 1] = 1.0

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        vectors, valid = self.table(x), x != 0
        told = vectors.sum(-1)
        last = (torch.arange(x.shape[1]) == valid.sum(1, keepdim=True) - 1).float()
        scores = {"honest": 4 * told, "hiding": -6 * told, "even": 0 * told, "last": 6 * last}[self.how]
        states = vectors if self.how in ("honest", "even") else vectors.sum(1, keepdim=True).expand_as(vectors)
        return masked_softmax(scores, valid), states

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        return self.sharp * (states * weights[..., None]).sum(1)

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)


def looking(how: str = "honest", sharp: float = 10.0, data: Any = None) -> Case:
    """The test rows of a small task of words under a looker."""
    data = data or planted("words")
    return small_case(data, "pad", 1, model=bind(wrap(Looker(read(data), how, sharp), device="cpu"), data))


def attention_of(case: Case) -> Tensor:
    module: Any = case.model.module  # type: ignore[attr-defined]
    x = case.model.feed(case.x)  # type: ignore[attr-defined]
    return looked(attentive(module, x[:4], case.model.attention), x)[1]  # type: ignore[attr-defined]


def scored(case: Case, scores: Tensor, name: str = "attention") -> Subject:
    kept = subsets.topk(scores, case.k, case.valid)
    return Subject(name, Explanation(scores, kept, case.valid, case.target))


def own(case: Case) -> Subject:
    """The model's attention as an explanation."""
    return scored(case, attention_of(case))


def chance(case: Case, name: str = "random") -> Subject:
    return scored(case, torch.rand(case.valid.shape, generator=seeds.generator(0)), name)
