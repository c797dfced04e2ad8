"""Attention can be taught to deceive: the words that decide are out of sight, the answers as good. Pruthi et al. 2020.

First sentences of generated reviews with "he" or "she" put in, which alone decides the class. Honest models look at
these words; copies of them learn to answer as before without being seen to look there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from unmask import seeds
from unmask.attention.deceiving import Deceptive
from unmask.data import load
from unmask.data.planting import decided
from unmask.data.splits import words_split
from unmask.masking.removals import make_removal
from unmask.models import Wrapped, bind, shown, wrap
from unmask.models.attending import attentive, looked
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.reproduce.claims.ground import Found, Ground
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset, Inputs, Split

__all__ = [
    "HIDDEN",
    "HONEST",
    "attending",
    "deceive",
    "deceptive_attention",
    "ground",
    "marks",
    "pronouns",
    "sentences",
    "weights",
]

HIDDEN = ("he", "she")
REVIEWS = 1000
HONEST = Recipe(epochs=6, batch=32, rate=2e-3)


def deceptive_attention(at: Ground, row: str) -> Found:
    """Accuracy, attention on the two words, accuracy without them and what it cost, per cent: "honest" or "lam=1"."""
    model = at.model if row == "honest" else at.once(row, lambda: deceive(at.model, at.data, at.seed, _lam(row)))
    marked, x = marks(at.x), at.x
    right = _right(model(x), at.y)
    left = shown(model, make_removal("pad", at.data), x, at.data.layout.valid(x) & ~marked)
    found = {"accuracy": right, "mass": (weights(model, x) * marked).sum(1), "without": _right(left, at.y)}
    if row != "honest":
        found["accuracy-lost"] = _right(at.model(x), at.y) - right
    return {name: 100 * values for name, values in found.items()}


def _lam(row: str) -> float:
    return float(row.partition("=")[2])


def _right(answer: Tensor, y: Tensor) -> Tensor:
    return (answer.argmax(1) == y).float()


@lru_cache(maxsize=1)
def ground(k: int, seed: int) -> Ground:
    """The sentences, all of the test split, and an honest model of them."""
    data = pronouns(seed)
    model = attending(data, "bilstm", replace(HONEST, seed=seed))
    return Ground(model, data, data.test.x, data.test.y, k, "pad", seed)


def pronouns(seed: int) -> Dataset:
    """First sentences of reviews with a word that decides the class."""
    return decided(sentences(seed), {"negative": "he", "positive": "she"}, seed=seed)


def sentences(seed: int) -> Dataset:
    """The first sentences of reviews with their own sentiment: nothing is planted."""
    data = load("reviews", seed=seed, n=REVIEWS, aspect="appearance")
    train, validation, test = (_first(data[part]) for part in ("train", "validation", "test"))
    return replace(data, train=train, validation=validation, test=test)


def _first(split: Split) -> Split:
    owners = split.sentence_of
    assert owners is not None
    rows = zip(split.x, owners.tolist(), strict=True)
    return words_split([[word for word, owner in zip(x, own, strict=False) if owner == 0] for x, own in rows], split.y)


def attending(data: Dataset, encoder: str, recipe: Recipe) -> Wrapped:
    """A model with attention that learns nothing but the task."""
    reader = read(data)
    net = attention_net(reader, len(data.classes), encoder, hidden=64, seed=seeds.derive(recipe.seed, "model"))
    train, held = ((reader.prepare(split.x), split.y) for split in (data.train, data.validation))
    fit_classifier(net, train, held, recipe)
    return bind(wrap(net), data)


def deceive(model: Wrapped, data: Dataset, seed: int, lam: float = 1.0) -> Wrapped:
    """A copy that was taught to keep the two words out of sight."""
    recipe = replace(Deceptive.recipe, seed=seed)
    fitted: Any = Deceptive(words=HIDDEN, k=3, lam=lam, recipe=recipe).fit(model, data)
    copy: Wrapped = fitted.model_
    return copy


def weights(model: Wrapped, x: Inputs) -> Tensor:
    """(n, d) the model's attention."""
    ids = model.feed(x)
    assert model.module is not None
    return looked(attentive(model.module, ids[:4]), ids)[1]


def marks(x: Inputs) -> Tensor:
    """(n, d) where the two words stand."""
    longest = max(map(len, x))
    return torch.tensor([[word in HIDDEN for word in row] + [False] * (longest - len(row)) for row in x])
