"""Small tasks of every kind with three classes, a quickly trained model for each, and short recipes."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from unmask.api import train_model
from unmask.data.own import dataset
from unmask.explainers import METHODS, learned
from unmask.methods import make
from unmask.models import Wrapped, wrap
from unmask.seeds import generator, seeded
from unmask.training import Recipe
from unmask.types import Dataset

KINDS = ("table", "image", "words", "sentences")
K = 3
SHORT = Recipe(epochs=2, batch=16, rate=1e-3)
FEW = {"recipe": SHORT, "samples": 64, "draws": 5}
GROUPS = {"colour": [0, 1], "age": [2], "place": [3, 5], "pulse": [4], "height": [6]}
NOUNS = ("soup", "tea", "bread", "rice", "fish")
MOODS = (("good", "fine"), ("bad", "poor"), ("dear", "late"))
ROWS = 45


def _mood(i: int) -> str:
    return MOODS[i % 3][i // 3 % 2]


def _words() -> list[list[str]]:
    """Texts of one to seven words, one of which tells the class; some are shorter than K."""
    rows = []
    for i in range(ROWS):
        nouns = [NOUNS[(i * step + step) % len(NOUNS)] for step in range(1, 1 + i % 7)]
        rows.append([*nouns[: i % 3], _mood(i), *nouns[i % 3 :]])
    return rows


def _inputs(kind: str) -> Any:
    label, rng = torch.arange(ROWS) % 3, generator(5)
    if kind == "words":
        return _words()
    if kind == "sentences":
        return [[[NOUNS[j % 5], "was", "here"][: 1 + j % 3] for j in range(i % 5)] + [[_mood(i)]] for i in range(ROWS)]
    if kind == "table":
        x = 2.0 + 3.0 * torch.randn(ROWS, 7, generator=rng)
        x[:, 2] += 4.0 * label
        return x
    x = torch.rand(ROWS, 1, 6, 6, generator=rng)
    x[torch.arange(ROWS), 0, 1 + label, 2] += 2.0
    return x


@cache
def task(kind: str) -> Dataset:
    groups = GROUPS if kind == "table" else None
    return dataset(_inputs(kind), [f"class {i % 3}" for i in range(ROWS)], kind=kind, groups=groups)


@cache
def model(kind: str) -> Wrapped:
    return train_model(task(kind), recipe=Recipe(epochs=15, batch=8, rate=1e-2))


class Sums(nn.Module):
    """A class from the sum of vectors of three numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids).sum(1)


def with_start() -> Wrapped:
    """A module whose tokenizer puts a token of its own before every text: more ids than words."""

    def ids(rows: list[list[str]]) -> Tensor:
        padded = torch.zeros(len(rows), 1 + max(map(len, rows))).long()
        for i, row in enumerate(rows):
            padded[i, : 1 + len(row)] = torch.tensor([1, *(2 + len(word) % 3 for word in row)])
        return padded

    with seeded(0):
        return wrap(Sums(), takes="ids", tokenizer=ids, outputs="logits")


def unfitted(method: str, k: Any = K, removal: str | None = None) -> Any:
    """The method with a short recipe where it learns, and few samples or draws where it takes them."""
    made = make(method, k, removal)
    few = {name: value for name, value in FEW.items() if hasattr(made, name)}
    return make(method, k, removal, few) if few else made


@cache
def fitted(method: str, kind: str) -> Any:
    return unfitted(method).fit(model(kind), task(kind))


def _reads_itself(method: str) -> bool:
    """It explains without the model: its own approximator names the class, and its selector is not told the answer."""
    made = make(method, 1)
    return type(made).explain is learned.explain and not made.feedback


READS_ITSELF = tuple(filter(_reads_itself, METHODS))
