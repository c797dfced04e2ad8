"""Intervals and tests, once for all checks; resamples are shared, so comparisons are paired."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from unmask import seeds
from unmask.batches import fitting

__all__ = ["RESAMPLES", "Bootstrap", "balanced", "by_row", "holm", "level"]

RESAMPLES = 2000
AT_ONCE = 2**20  # counts that are drawn and summed at once: some resamples of all examples
LEVEL = 0.95


class Bootstrap:
    """Resamples of `n` examples, drawn once; every number of an audit uses the same ones."""

    def __init__(self, n: int, seed: int) -> None:
        rng = seeds.generator(seeds.derive(seed, "bootstrap"))
        self.counts = torch.empty(
            RESAMPLES, n, dtype=torch.uint8
        )  # an example is drawn once in the mean, never 256 times
        for part in self._parts():
            drawn = torch.randint(n, part.shape, generator=rng) + n * torch.arange(len(part))[:, None]
            part.copy_(torch.bincount(drawn.flatten(), minlength=part.numel()).view_as(part))

    def _parts(self) -> tuple[Tensor, ...]:
        parts: tuple[Tensor, ...] = self.counts.split(fitting(self.counts.shape[1], RESAMPLES, AT_ONCE))
        return parts

    def means(self, values: Tensor, weight: Tensor | None = None) -> Tensor:
        """(RESAMPLES,) weighted means; examples without a value (nan) are left out, nan where there is no other."""
        weight = torch.ones_like(values) if weight is None else weight
        weight = torch.where(values.isnan(), 0.0, weight).double()
        pair = torch.stack([weight * values.double().nan_to_num(), weight], 1)  # (n, 2)
        sums = torch.cat([part.double() @ pair for part in self._parts()])
        return torch.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], torch.nan)

    def interval(self, values: Tensor, over: Tensor | None = None) -> tuple[float, float, float]:
        """Mean (or ratio of means) with its percentile interval; nan where there is no value at all."""
        if bool(values.isnan().all()):
            return (float("nan"),) * 3
        drawn = self.means(values) if over is None else self.means(values) / self.means(over)
        value = level(values, over)
        tail = (1 - LEVEL) / 2
        low, high = torch.nanquantile(drawn, torch.tensor([tail, 1 - tail], dtype=drawn.dtype)).tolist()
        return value, low, high

    def p_above(self, difference: Tensor, weight: Tensor | None = None) -> float:
        """One-sided p-value of "the mean difference is above 0": the share of resamples in which it is not."""
        above = self.means(difference, weight) > 0
        return float(((~above).sum() + 1) / (RESAMPLES + 1))

    def low(self, difference: Tensor) -> float:
        """Lower end of the interval of the mean."""
        return self.interval(difference)[1]


def level(values: Tensor, over: Tensor | None = None) -> float:
    """Mean (or ratio of means) alone."""
    mean = values.double().nanmean()
    return float(mean if over is None else mean / over.double().nanmean())


def by_row(values: Tensor, over: Tensor | None = None) -> list[float]:
    """One number for each row whose mean is the value; of a ratio of means its linear part, row by row."""
    v = values.double()
    if over is not None:
        size = over.double().mean()
        v = v.mean() / size + (v - v.mean() / size * over.double()) / size
    found: list[float] = v.tolist()
    return found


def balanced(target: Tensor) -> Tensor:
    """(n,) weights that give every class that occurs the same say."""
    counted = torch.bincount(target).float()
    return 1.0 / (counted[target] * (counted > 0).sum())


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values: the smallest times m, the next times m - 1, never falling."""
    adjusted, running = {}, 0.0
    for i, (name, value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        running = max(running, min(1.0, value * (len(p) - i)))
        adjusted[name] = running
    return adjusted
