"""Mask-neutral weighting for attention: rows weigh so that the weights alone tell nothing about the label.

"Why is Attention Not So Attentive?", Bai et al. 2021, section 4.3. A classifier C learns P(y | attention) beside the
model, which then learns with w = P(y) / C(y | attention), no slope going through w:

    min  mean_i  w_i CE(y_i, answer(states_i, attention_i))
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask import progress, seeds
from unmask.attention.pupils import Pupil, dirichlet, pupil
from unmask.attention.schemes import USUAL
from unmask.errors import InputError
from unmask.task import clone
from unmask.training import Loss, Recipe, minimize
from unmask.types import Dataset
from unmask.weighting import MaskNet, Weighed, by_other_half, frequencies, weights

__all__ = ["Weighting"]


@dataclass
class Weighting:
    """C has `hidden` units in each of two layers (0: it is linear) and moves `steps` times before the model does.

    With `held_out` there are two of them, each learning from half of the rows and weighing the other half. `noise`: so
    many of the rows see their attention mixed with a random one, so that no attention settles the label. `smooth` of
    C's labels are spread over all classes, its probabilities count as `floor` where they are lower, and the first
    `warm` epochs are not weighted; each of these three leaves something of the code unpaid for, and a code that pays a
    little is learned. With `normalise` weights have mean 1. `Recipe(rate={"mask classifier": ...})` is C's own rate.
    """

    hidden: int = 128
    steps: int = 1
    held_out: bool = True
    noise: float = 1.0
    smooth: float = 0.0
    floor: float = 0.01
    warm: int = 0
    normalise: bool = True
    select: bool = True
    recipe: Recipe = replace(USUAL, rate={"weighting": 1e-3, "mask classifier": 3e-3})
    method: ClassVar[str] = "weighting"
    clone = clone

    def __post_init__(self) -> None:
        if not (0 <= self.noise <= 1 and 0 <= self.smooth < 1 and 0 < self.floor <= 1):
            raise InputError(f"noise and smooth must be from 0 to 1 and floor above 0, got {self}")
        if self.steps < 1 or self.hidden < 0 or self.warm < 0:
            raise InputError(f"steps must be at least 1, hidden and warm not below 0, got {self}")

    def fit(self, model: Any, data: Dataset) -> Weighting:
        own = pupil(model, data)
        neutral = _Neutral.start(self, own)
        players: dict[str, tuple[nn.Module, Loss]] = {
            "mask classifier" + "'" * i: (neutral.nets, neutral.loss) for i in range(self.steps)
        }
        players[self.method] = own.model.module, neutral.weighted
        score = (lambda: own.held_out(neutral.judged, self.recipe.seed)) if self.select else None
        self.history_ = minimize(players, own.train.all, self.recipe, score=score, title="training weighted attention")
        told = {**neutral.weighed.health(), "mask classifier on validation rows": neutral.leak()}
        own.finish(self, {"weights": told, "warnings": neutral.weighed.warnings()})
        for sentence in neutral.weighed.warnings():
            progress.warn(f"{self.method}: {sentence}")
        return self


@dataclass
class _Neutral:
    """The classifiers beside a pupil, what they have seen, and the losses of both."""

    scheme: Weighting
    own: Pupil
    nets: nn.ModuleList
    frequency: Tensor  # (classes,) running P(y)
    weighed: Weighed
    taken: Any = field(default_factory=itertools.count)

    @classmethod
    def start(cls, scheme: Weighting, own: Pupil) -> _Neutral:
        rows, classes = own.train, own.wrapped.classes or int(own.train.y.max()) + 1
        seed = seeds.derive(scheme.recipe.seed, "mask classifier")
        with seeds.seeded(seed):
            pair = [MaskNet(rows.valid.shape[1], classes, scheme.hidden) for _ in range(1 + scheme.held_out)]
        frequency = rows.y.bincount(minlength=classes) / len(rows.y)
        steps = scheme.recipe.steps(len(rows.y))
        return cls(scheme, own, nn.ModuleList(pair).to(rows.x.device), frequency, Weighed(steps))

    def stirred(self, attention: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
        """Some rows see a mixture of their attention with a random one, in random shares."""
        if not self.scheme.noise:
            return attention
        some, share = torch.rand(2, len(valid), 1, generator=rng, device=rng.device).to(valid.device)
        return torch.lerp(attention.float(), dirichlet(valid, rng), share * (some < self.scheme.noise))

    def told(self, x: Tensor, attention: Tensor, index: Tensor) -> Tensor:
        """(n, classes) C's logits of each row, by the one that does not learn it where there are two."""
        first, second = self._both(x, attention)
        return by_other_half(index, first, second)

    def _both(self, x: Tensor, attention: Tensor) -> tuple[Tensor, Tensor]:
        shares = attention.detach() * (attention > 0).sum(1, keepdim=True)  # of the uniform weight
        return self.nets[0](x, shares), self.nets[-1](x, shares)

    def loss(self, x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """Each classifier learns from its own half of the rows; a single one from all."""
        with torch.no_grad():
            attention = self.stirred(self.own.model.attend(x)[0], valid, rng)
        first, second = self._both(x, attention)
        said = torch.where(index[:, None] % 2 == 0, first, second)
        return nn.functional.cross_entropy(said, y, label_smoothing=self.scheme.smooth)

    def weighted(self, x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """The model's loss in training; the weights are noted."""
        self.frequency = frequencies(self.frequency, y)
        found, states = self.own.model.attend(x)
        attention = self.stirred(found, valid, rng)
        with torch.no_grad():
            told = self.told(x, attention, index).softmax(1)
        w = weights(self.frequency.expand_as(told), told, y, self.scheme.floor)
        self.weighed.note(w, told.argmax(1) == y)
        if next(self.taken) < self.scheme.warm * self.weighed.steps:
            w = torch.ones_like(w)
        return self._mean(w, self.own.loss(states, attention, y))

    def judged(self, x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """The weighted loss of rows that nobody learns, without noise."""
        attention, states = self.own.model.attend(x)
        told = self.told(x, attention, index).softmax(1)
        w = weights(self.frequency.expand_as(told), told, y, self.scheme.floor)
        return self._mean(w, self.own.loss(states, attention, y))

    def _mean(self, w: Tensor, loss: Tensor) -> Tensor:
        return (w * loss).sum() / (w.sum() if self.scheme.normalise else len(w))

    def leak(self) -> float:
        """How often C guesses the label of validation rows from attention alone."""
        rows = self.own.held
        with torch.no_grad():
            attention = torch.cat([self.own.model.attend(x)[0] for x in rows.x.split(512)])
            right = self.told(rows.x, attention, rows.index).argmax(1) == rows.y
        return round(float(right.float().mean()), 4)
