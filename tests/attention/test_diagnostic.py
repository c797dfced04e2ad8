"""The diagnostic network: what weights are worth to somebody who sees each word by itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from attention.samples import MOODS, NOUNS, net, task
from unmask.attention.diagnostic import Diagnosis, diagnose
from unmask.data.own import dataset
from unmask.models import wrap
from unmask.nets import Reader, read
from unmask.seeds import generator
from unmask.training import Recipe
from unmask.types import Dataset

pytestmark = pytest.mark.slow

RECIPE = Recipe(epochs=8, batch=16, rate=1e-2)


class Pointing(nn.Module):
    """Looks at the first word alone; what it answers does not matter here."""

    def __init__(self, reader: Reader, classes: int) -> None:
        super().__init__()
        self.reader, self.attention = reader, nn.Linear(1, 1)
        self.classes = classes

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.nn.functional.one_hot(torch.zeros(len(x), dtype=torch.long), x.shape[1]).float(), x

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        return weights.sum(1, keepdim=True).expand(-1, self.classes)

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)


def first_word_decides() -> Dataset:
    """The first word tells the class; two more of any mood stand anywhere behind it, among nouns."""
    rng, texts = generator(4), []
    moods = [word for words in MOODS for word in words]
    for i in range(300):
        others = [moods[int(j)] for j in torch.randint(0, len(moods), (2,), generator=rng)]
        rest = [*others, *(NOUNS[int(j)] for j in torch.randint(0, len(NOUNS), (2,), generator=rng))]
        order = torch.randperm(len(rest), generator=rng).tolist()
        texts.append([MOODS[i % 3][i // 3 % 3], *(rest[j] for j in order)])
    return dataset(texts, [i % 3 for i in range(300)], kind="words", classes=("happy", "sad", "cross"))


def test_weights_on_the_words_that_decide_are_worth_more_than_equal_ones_and_than_its_own() -> None:
    data = first_word_decides()
    model = wrap(Pointing(read(data), 3), device="cpu")
    found = diagnose(model, data, RECIPE, hidden=16)
    assert found.given == 1.0
    assert found.uniform < 0.9  # it cannot know which of three moods came first
    assert found.learned < 0.9


def test_equal_weights_are_worth_equal_weights() -> None:
    data = task()
    found = diagnose(wrap(net("pooling", "uniform"), device="cpu"), data, RECIPE, hidden=8)
    assert found.given == found.uniform


def test_the_same_seed_gives_the_same_and_the_model_stays_as_it_is() -> None:
    data, given = task(), net()
    before = [p.detach().clone() for p in given.parameters()]
    short = Recipe(epochs=1, batch=32, rate=1e-2, seed=3)
    first, again = (diagnose(wrap(given, device="cpu"), data, short, hidden=8) for _ in range(2))
    assert first == again
    assert isinstance(first, Diagnosis)
    assert all(torch.equal(a, b) for a, b in zip(before, given.parameters(), strict=True))
