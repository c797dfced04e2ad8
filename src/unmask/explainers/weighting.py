"""Mask-neutral weighting of a selector's rows: the mask alone tells nothing about the answer (Bai et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from unmask import nets, seeds
from unmask.explainers.learned import Batch, Lesson, Part, drawn, placed
from unmask.explainers.pretraining import pretrain, random_masks
from unmask.weighting import FLOOR, MaskNet, Weighed, by_other_half, frequencies, weights

__all__ = ["FLOOR", "MaskNet", "Neutral"]


@dataclass
class Neutral:
    """Weights that make the answer independent of the mask; two classifiers, each weighing the rows it never learns.

    Plain, C sees the mask alone and w = P(y) / C(y | mask). With `judge`, C sees what the reader sees, values too, and
    w = J(y | shown) / C(y | shown): what the values tell stays, what the choice adds goes (for codes that are in
    *which words* are shown, not where).

    Every mask is mixed with a random one, so that none settles the answer. Rows are weighted from the first step on and
    C's labels are not smoothed: a code that pays a little is learned.
    """

    explainer: Any
    net: nn.ModuleList
    frequency: Tensor  # (classes,) running P(y)
    judge: nn.Module | None
    steps: int  # in one epoch
    taken: int = 0
    weighed: Weighed = field(init=False)

    def __post_init__(self) -> None:
        self.weighed = Weighed(self.steps)

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
        """Masks mixed with random ones, in random shares: every mask may come with every answer."""
        other = random_masks(self.explainer)(batch.valid, batch.rng).to(v)
        share = torch.rand(len(v), 1, generator=batch.rng, device=batch.rng.device).to(v)
        return torch.lerp(v, other, share)

    def loss(self, x: Tensor, p: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """Each classifier learns from its own half of the rows."""
        batch = Batch(x, p, valid, rng, index, self.taken // self.steps)
        self.taken += 1
        with torch.no_grad():
            v = self.stirred(batch, drawn(self.explainer, batch))
        y = p.argmax(1)
        self.frequency = frequencies(self.frequency, y)
        first, second = (nn.functional.cross_entropy(net(x, v), y, reduction="none") for net in self.net)
        return torch.where(index % 2 == 0, first, second).mean()

    def weight(self, batch: Batch, v: Tensor, note: bool = True) -> Tensor:
        """(b,) w by the classifier that never learned the row, without gradient."""
        y = batch.p.argmax(1)
        w, told = self._weighed(batch.x, v, y, torch.as_tensor(batch.index))
        if note:
            self.weighed.note(w, told.argmax(1) == y)
        return w

    def held_out(self, part: Part, kept: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) weights of rows that neither classifier learns, under the masks they are explained with, and whether
        the classifier's guess was the answer.
        """
        device = next(self.net.parameters()).device
        x, v, y = part.x.to(device), kept.float().to(device), part.p.argmax(1).to(device)
        pieces = zip(*(t.split(512) for t in (x, v, y, torch.arange(len(x), device=device))), strict=True)
        w, told = (torch.cat(parts) for parts in zip(*(self._weighed(*piece) for piece in pieces), strict=True))
        return w.cpu(), (told.argmax(1) == y).cpu()

    def _weighed(self, x: Tensor, v: Tensor, y: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            first, second = (net.eval()(x, v) for net in self.net)
            told = by_other_half(index, first, second).softmax(1)
            fair = self.frequency.to(told).expand_as(told) if self.judge is None else self.judge(x, v).softmax(1)
        return weights(fair, told, y), told

    def health(self) -> dict[str, float]:
        """Weights of the last epoch of training, under mixed masks: their mean should be 1."""
        return self.weighed.health()
