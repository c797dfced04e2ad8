"""Mask-neutral weighting: rows weigh so that the mask alone tells nothing about the answer.

"Why is Attention Not So Attentive?", Bai et al. 2021: with w = P(y) / P(y | mask), the weighted mean loss is the mean
loss under a law in which answer and mask are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from unmask import nets, seeds
from unmask.explainers.learned import Batch, Lesson, drawn, placed
from unmask.explainers.pretraining import pretrain, random_masks

__all__ = ["MaskNet", "Neutral"]

FLOOR = 0.05  # C's probabilities are not trusted below: weights are at most 20 P(y)
NOISE = 0.1  # of the rows get a random mask: no mask may settle the answer
SMOOTH = 0.05  # of C's labels, so that it stays calibrated
SOUND = (0.8, 1.25)  # the mean weight, if it works
FADE = 0.99  # memory of the running class frequencies


@dataclass
class Neutral:
    """Weights that make the answer independent of the mask; two classifiers, each weighing the rows it never learns.

    Plain, C sees the mask alone and w = P(y) / C(y | mask). With `judge`, C sees what the reader sees, values too, and
    w = J(y | shown) / C(y | shown): what the values tell stays, what the choice adds goes (for codes that are in
    *which words* are shown, not where).
    """

    explainer: Any
    net: nn.ModuleList
    frequency: Tensor  # (classes,) running P(y)
    judge: nn.Module | None
    steps: int  # in one epoch
    taken: int = 0
    seen: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def start(cls, explainer: Any, lesson: Lesson) -> Neutral:
        classes, part = lesson.train.p.shape[1], lesson.train
        shown = explainer.cure == "weighting-shown"
        seed = seeds.derive(explainer.recipe.seed, "mask classifier")
        judge = None
        if shown:
            judge = placed(explainer, nets.default(lesson.task.reader, classes, sees_mask=True, seed=seed))
            pretrain(explainer, judge, lesson, random_masks(explainer))

        def make(i: int) -> nn.Module:
            if shown:
                return nets.default(lesson.task.reader, classes, sees_mask=True, seed=seed + 1 + i)
            with seeds.seeded(seed + 1 + i):
                return MaskNet(part.valid.shape[1], classes)

        pair = nn.ModuleList([placed(explainer, make(i)) for i in range(2)])
        frequency = torch.bincount(part.p.argmax(1), minlength=classes) / len(part.p)
        return cls(explainer, pair, frequency, judge, explainer.recipe.steps(len(part.x)))

    def stirred(self, batch: Batch, v: Tensor) -> Tensor:
        """Some rows get a random mask, so that every mask may come with every answer."""
        other = random_masks(self.explainer)(batch.valid, batch.rng).to(v)
        some = torch.rand(len(v), 1, generator=batch.rng, device=batch.rng.device).to(v.device) < NOISE
        return torch.where(some, other, v)

    def loss(self, x: Tensor, p: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """Each classifier learns from its own half of the rows."""
        batch = Batch(x, p, valid, rng, index, self.taken // self.steps)
        self.taken += 1
        with torch.no_grad():
            v = self.stirred(batch, drawn(self.explainer, batch))
        y = p.argmax(1)
        self.frequency = FADE * self.frequency.to(y.device) + (1 - FADE) * y.bincount(minlength=p.shape[1]) / len(y)
        first, second = (
            nn.functional.cross_entropy(net(x, v), y, reduction="none", label_smoothing=SMOOTH) for net in self.net
        )
        return torch.where(index % 2 == 0, first, second).mean()

    def weight(self, batch: Batch, v: Tensor) -> Tensor:
        """(b,) w by the classifier that never learned the row, without gradient; 1 in the first epoch."""
        x, y = batch.x, batch.p.argmax(1)[:, None]
        with torch.no_grad():
            first, second = (net.eval()(x, v) for net in self.net)
            odd = torch.as_tensor(batch.index)[:, None] % 2 == 1
            told = torch.where(odd, first, second).softmax(1)
            fair = self.frequency.expand_as(told) if self.judge is None else self.judge(x, v).softmax(1)
        w = (fair.gather(1, y) / told.gather(1, y).clamp(min=FLOOR))[:, 0]
        self._note(w, told.argmax(1) == y[:, 0])
        return w if batch.epoch else torch.ones_like(w)

    def _note(self, w: Tensor, right: Tensor) -> None:
        facts = {"mean": w.mean(), "lowest": w.min(), "highest": w.max(), "mask classifier": right.float().mean()}
        for name, value in facts.items():
            kept = self.seen.setdefault(name, [])
            kept.append(float(value))
            del kept[: -self.steps]  # the last epoch

    def health(self) -> dict[str, float]:
        """Weights of the last epoch: their mean should be 1, the classifier's accuracy is what the mask tells."""
        return {name: round(sum(values) / len(values), 4) for name, values in self.seen.items()}

    def warnings(self) -> list[str]:
        """A mean far from 1 says that some masks come with one answer only: then no weight can make up for it."""
        mean = self.health()["mean"]
        if SOUND[0] <= mean <= SOUND[1]:
            return []
        return [f"the weights have mean {mean:.2f}, not 1: masks settle the answer, and weighting cannot undo that"]


class MaskNet(nn.Module):
    """Classes from a mask alone."""

    def __init__(self, width: int, classes: int, hidden: int = 128) -> None:
        super().__init__()
        self.width = width
        self.body = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        spare = self.width - kept.shape[1]
        return self.body(nn.functional.pad(kept, (0, spare)) if spare else kept)  # type: ignore[no-any-return]
