"""What mask-neutral weighting is made of, for selectors and for attention alike.

"Why is Attention Not So Attentive?", Bai et al. 2021: with w = P(y) / P(y | mask), the weighted mean loss is the mean
loss under a law in which answer and mask are independent. A classifier C, which sees the mask alone, tells P(y | mask).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import torch
from torch import Tensor, nn

__all__ = ["FLOOR", "MaskNet", "Weighed", "by_other_half", "frequencies", "unsound", "weighed", "weights"]

FLOOR = 0.01  # C's probabilities are not trusted below: weights are at most 100 P(y)
SOUND = (0.8, 1.25)  # the mean weight, if it works
FADE = 0.99  # memory of the running class frequencies


def weights(fair: Tensor, told: Tensor, y: Tensor, floor: float = FLOOR) -> Tensor:
    """(b,) fair(y) / told(y) of probabilities (b, classes); `told` counts as `floor` where it is lower."""
    y = y[:, None]
    return (fair.gather(1, y) / told.gather(1, y).clamp(min=floor))[:, 0]


def frequencies(before: Tensor, y: Tensor) -> Tensor:
    """(classes,) running class frequencies after one more batch of answers."""
    return FADE * before.to(y.device) + (1 - FADE) * y.bincount(minlength=len(before)) / len(y)


def by_other_half(index: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Of two classifiers' outputs, that of the one that never learns the row: the first learns those of even number."""
    return torch.where(index[:, None] % 2 == 1, first, second)


def weighed(w: Tensor, right: Tensor) -> dict[str, float]:
    """What some rows' weights look like, and how often C's guess was the answer."""
    facts = {"mean": w.mean(), "lowest": w.min(), "highest": w.max(), "mask classifier": right.float().mean()}
    return {name: float(value) for name, value in facts.items()}


def unsound(mean: float, where: str = "") -> list[str]:
    """A mean far from 1 says that some masks come with one answer only: then no weight can make up for it."""
    if SOUND[0] <= mean <= SOUND[1]:
        return []
    return [f"the weights{where} have mean {mean:.2f}, not 1: masks settle the answer, and weighting cannot undo that"]


@dataclass
class Weighed:
    """Weights and C's successes of the last `steps` batches, an epoch."""

    steps: int
    seen: dict[str, list[float]] = field(default_factory=dict)

    def note(self, w: Tensor, right: Tensor) -> None:
        """One batch of weights, and whether C's guess was the answer."""
        for name, value in weighed(w, right).items():
            kept = self.seen.setdefault(name, [])
            kept.append(value)
            del kept[: -self.steps]  # the last epoch

    def health(self) -> dict[str, float]:
        """Weights of the last epoch: their mean should be 1, the classifier's accuracy is what the mask tells."""
        whole: dict[str, Callable[[list[float]], float]] = {"lowest": min, "highest": max}
        return {name: round(whole.get(name, fmean)(values), 4) for name, values in self.seen.items()}

    def warnings(self) -> list[str]:
        """What is wrong with the weights of the last epoch."""
        return unsound(self.health()["mean"])


class MaskNet(nn.Module):
    """Classes from a mask alone, by two hidden layers; with `hidden` 0 by none."""

    def __init__(self, width: int, classes: int, hidden: int = 128) -> None:
        super().__init__()
        self.width = width
        sizes = [width, hidden, hidden] if hidden else [width]
        layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        self.body = nn.Sequential(*layers, nn.Linear(sizes[-1], classes))

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        spare = self.width - kept.shape[1]
        return self.body(nn.functional.pad(kept, (0, spare)) if spare else kept)  # type: ignore[no-any-return]
