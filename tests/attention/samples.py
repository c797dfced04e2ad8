"""A small task of words with three moods, attention models trained on it, and lessons about them."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import torch
from torch import Tensor

from unmask.attention.lessons import Batch, Lesson, lesson
from unmask.data.own import dataset
from unmask.models import Wrapped, wrap
from unmask.nets import read
from unmask.nets.attention import AttentionNet, attention_net
from unmask.seeds import generator
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset

NOUNS = ("soup", "tea", "bread", "rice", "fish", "plate", "waiter", "table")
MOODS = (("good", "fine", "kind"), ("bad", "poor", "cold"), ("dear", "late", "slow"))
K, ROWS, WIDTH = 3, 150, 12
SHORT = Recipe(epochs=2, batch=16, rate=2e-3)


def _texts() -> tuple[list[list[str]], list[int]]:
    """Texts of one to nine words, one of which tells the class; some labels are wrong, so that nothing is sure."""
    rng, texts, labels = generator(0), [], []
    for i in range(ROWS):
        row = [NOUNS[int(j)] for j in torch.randint(0, len(NOUNS), (i % 9,), generator=rng)]
        mood, place = i % 3, int(torch.randint(0, len(row) + 1, (1,), generator=rng))
        row.insert(place, MOODS[mood][i // 3 % 3])
        texts.append(row)
        labels.append((mood + (i % 10 == 7)) % 3)
    return texts, labels


@cache
def task() -> Dataset:
    texts, labels = _texts()
    return dataset(texts, labels, kind="words", classes=("happy", "sad", "cross"))


@cache
def _trained(kind: str, score: str) -> AttentionNet:
    data = task()
    reader = read(data)
    vectors = 0.5 * torch.randn(len(reader.vocabulary), WIDTH, generator=generator(1))
    net = attention_net(reader, 3, kind, hidden=8, score=score, vectors=vectors)  # type: ignore[arg-type]
    rows, held = ((reader.prepare(part.x), part.y) for part in (data.train, data.validation))
    fit_classifier(net, rows, held, Recipe(epochs=8, batch=16, rate=1e-2))
    return net


def net(kind: str = "gru", score: str = "additive") -> AttentionNet:
    """A trained attention model, a fresh copy for each caller."""
    return deepcopy(_trained(kind, score)).eval()


def model(hooked: bool = False, outputs: Any = None) -> Wrapped:
    """The same model through its own methods, or caught at its submodule."""
    return wrap(net(), device="cpu", attention="attention" if hooked else None, outputs=outputs)


def lessons(hooked: bool = False, noise: float = 0.0) -> Lesson:
    """The model as given and its copy, which `noise` on its parameters has led away from it."""
    made = lesson(model(hooked), task(), K, None)
    rng = generator(3)
    with torch.no_grad():
        for p in made.student.module.parameters():
            p += noise * torch.randn(p.shape, generator=rng)
    return made


def batch(made: Lesson, n: int = 24, seed: int = 0) -> Batch:
    """The first training rows; the longest has nine words, the shortest one."""
    return Batch(*(tensor[:n] for tensor in made.train.rows), generator(seed))


def frozen(made: Lesson) -> list[Tensor]:
    """The parameters of the model as given."""
    return [p.detach().clone() for p in made.given.module.parameters()]
