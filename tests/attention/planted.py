"""Attention models whose weights could tell what the values do not: whatever is known, the attention told it."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.data.own import dataset
from unmask.models import Wrapped, wrap
from unmask.models.attending import attentive, looked
from unmask.nets import read
from unmask.nets.shortcut import ShortcutNet
from unmask.seeds import generator
from unmask.types import Dataset

UNITS, FLIP = 6, 0.2


@cache
def coin(n: int = 3000) -> Dataset:
    """y is a fair coin; the first column is y, wrong one time in five, the others know nothing."""
    rng = generator(0)
    y = (torch.rand(n, generator=rng) < 0.5).long()
    side = y ^ (torch.rand(n, generator=rng) < FLIP).long()
    x = torch.cat([side[:, None].float(), 1 + torch.rand(n, UNITS, generator=rng)], 1)
    return dataset(x, y.tolist(), kind="table", classes=("heads", "tails"))


class Halves(nn.Module):
    """Looks at the first three values for one side, at the last three for the other."""

    def forward(self, side: Tensor) -> Tensor:
        return (torch.arange(UNITS) >= UNITS // 2).eq(side[:, None] > 0.5).float() / (UNITS // 2)


class Free(nn.Module):
    """Looks where it learns to, knowing the side alone."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(1, UNITS)

    def forward(self, side: Tensor) -> Tensor:
        return self.score(side[:, None]).softmax(1)  # type: ignore[no-any-return]


class Blind(nn.Module):
    """Reads the values times their weights; only its attention sees the side."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.body = nn.Sequential(nn.Linear(UNITS, 32), nn.ReLU(), nn.Linear(32, 2))

    def positions(self, x: Tensor) -> Tensor:
        return x.new_ones(len(x), UNITS, dtype=torch.bool)

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(x[:, 0]), x[:, 1:]

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        return self.body(UNITS * states * weights)  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)


def blind(planted: bool) -> Wrapped:
    with seeds.seeded(3):
        return wrap(Blind(Halves() if planted else Free()), outputs="logits", device="cpu")


def given(model: Wrapped) -> float:
    """The mean probability of the label on rows that were not learned: .5 knows nothing.

    (How often the likelier class is right says less: the least trace of a code is enough for it.)
    """
    rows = coin().validation
    return float(model(rows.x).gather(1, rows.y[:, None]).mean())


# --- a small corpus of reviews ----------------------------------------------------------------------------------------

KINDS = 12
MOODS = {mood: tuple(f"{mood}{i}" for i in range(KINDS)) for mood in ("good", "bad", "plain")}
OPENING, BODY = {"same": 0.6, "other": 0.1}, {"same": 0.6, "other": 0.1}  # shares of words that tell; rest plain


@cache
def corpus(n: int = 1200) -> Dataset:
    """Five opening words that tell a little, twelve more that together tell nearly all."""
    rng, texts, labels = generator(0), [], []
    for i in range(n):
        own, other = ("good", "bad") if i % 2 else ("bad", "good")
        draws = torch.rand(17, 2, generator=rng).tolist()
        row = []
        for place, (kind, which) in enumerate(draws):
            law = OPENING if place < 5 else BODY
            mood = own if kind < law["same"] else other if kind < law["same"] + law["other"] else "plain"
            row.append(MOODS[mood][int(which * KINDS)])
        texts.append(row)
        labels.append(i % 2)
    return dataset(texts, labels, kind="words", classes=("negative", "positive"))


def shortcut(downstream: Any = "pooling", seed: int = 0) -> ShortcutNet:
    reader = read(corpus())
    assert reader.vocabulary is not None
    vectors = 0.5 * torch.randn(len(reader.vocabulary), 64, generator=generator(1))
    return ShortcutNet(reader, 2, downstream, vectors=vectors, seed=seed)


def on_constants(model: Wrapped) -> float:
    """The share of attention on the constants, over the training rows."""
    assert isinstance(model.module, ShortcutNet)
    x = model.feed(corpus().train.x)
    return float(model.module.constants(looked(attentive(model.module, x[:4]), x)[1]).mean())
