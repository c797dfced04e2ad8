"""Is attention worth anything to somebody else? "Attention is not not Explanation", Wiegreffe & Pinter 2019.

A network that sees each word by itself (vector, dense, tanh) sums the words up under weights and answers from the sum.
It is trained three times: under the weights of the model in question, which stay as they are; under equal weights; and
under weights that it learns itself. Better than equal ones, the model's weights tell which words matter without what
its encoder makes of them; as good as its own or better, they tell as much as can be told this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unmask import nets
from unmask.attention.lessons import looked, protocol
from unmask.models import Wrapped, bind
from unmask.nets.attention import AttentionNet, attention_net
from unmask.training import Recipe, fit_classifier, minimize, soft_cross_entropy
from unmask.types import Dataset, Split

__all__ = ["Diagnosis", "diagnose"]

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Diagnosis:
    """Test accuracy of the same network under three kinds of weights."""

    given: float
    uniform: float
    learned: float


@dataclass(frozen=True)
class _Rows:
    """One split: ids, labels, weights."""

    x: Tensor
    y: Tensor
    w: Tensor


def diagnose(
    model: Any,
    data: Dataset,
    recipe: Recipe = Recipe(epochs=10, batch=32, rate=1e-3),
    hidden: int = 128,
    vectors: Tensor | None = None,
) -> Diagnosis:
    """Train the diagnostic network under the weights of `model`, under equal ones and under its own.

    `vectors` (vocabulary of `nets.read(data)`, e) start its words; the epochs are chosen on validation rows.
    """
    wrapped, reader = bind(model, data), nets.read(data)

    def net() -> AttentionNet:
        return attention_net(reader, len(data.classes), "pooling", hidden=hidden, vectors=vectors, seed=recipe.seed)

    x = {part: reader.prepare(data[part].x) for part in PARTS}
    given = {part: _Rows(x[part], data[part].y, _weights(wrapped, data[part])) for part in PARTS}
    even = {part: _Rows(x[part], data[part].y, _even(data[part].valid)) for part in PARTS}
    own = net()
    fit_classifier(own, (x["train"], data.train.y), (x["validation"], data.validation.y), recipe, "diagnostic network")
    learned = float((own(x["test"]).argmax(1) == data.test.y).float().mean())
    return Diagnosis(_frozen(net(), given, recipe), _frozen(net(), even, recipe), learned)


def _frozen(net: AttentionNet, rows: dict[str, _Rows], recipe: Recipe) -> float:
    """Test accuracy of `net`, trained under weights that stay as they are."""

    def said(x: Tensor, w: Tensor) -> Tensor:
        return net.answer(net.attend(x)[1], w)

    def loss(x: Tensor, y: Tensor, w: Tensor, rng: torch.Generator) -> Tensor:
        return soft_cross_entropy(said(x, w), y).mean()

    train, held, test = (rows[part] for part in PARTS)
    minimize(
        {"diagnostic network": (net, loss)},
        (train.x, train.y, train.w),
        recipe,
        score=lambda: -float(soft_cross_entropy(said(held.x, held.w), held.y).mean()),
        title="training under given weights",
    )
    with torch.no_grad():
        return float((said(test.x, test.w).argmax(1) == test.y).float().mean())


def _weights(model: Wrapped, split: Split) -> Tensor:
    return looked(protocol(model, split.x), model.feed(split.x))[1]


def _even(valid: Tensor) -> Tensor:
    return valid / valid.sum(1, keepdim=True).clamp(min=1)
