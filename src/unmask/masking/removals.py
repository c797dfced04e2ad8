"""Removal operators: how the units that are not kept are hidden from a model that takes plain inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from unmask import seeds
from unmask.errors import InputError
from unmask.masking import check_removal
from unmask.types import Dataset, Inputs, Layout, Removal

__all__ = ["MASK", "PAD", "BlurFill", "Cut", "FixedFill", "make_removal"]

PAD = "<pad>"  # stands in the text where a word was; networks give it a zero vector, joined text drops it
MASK = "<mask>"
DRAWS = 8  # fills of the removals that draw at random


@dataclass(frozen=True)
class FixedFill:
    """Hidden values are replaced by fills drawn or computed once: (m, *shape), one version of the rows each."""

    name: str
    layout: Layout
    fills: Tensor

    def versions(self, x: Tensor, kept: Tensor) -> Iterator[Tensor]:
        shown = self.layout.spread(kept)
        for fill in self.fills:
            yield torch.where(shown, x, fill)  # exact where kept, and a missing value that is hidden is gone


@dataclass(frozen=True)
class BlurFill:
    """Hidden pixels are replaced by those of a Gaussian-blurred copy of the same image."""

    name: str
    layout: Layout
    sigma: float

    def versions(self, x: Tensor, kept: Tensor) -> Iterator[Tensor]:
        yield torch.where(self.layout.spread(kept), x, self.blurred(x))

    def blurred(self, x: Tensor) -> Tensor:
        reach = min(max(1, round(2 * self.sigma)), *(side - 1 for side in x.shape[2:]))
        at = torch.arange(-reach, reach + 1, dtype=x.dtype)
        kernel = torch.softmax(-(at**2) / (2 * self.sigma**2), 0)
        flat = x.flatten(0, 1)[:, None]  # (n * channels, 1, height, width)
        flat = conv2d(pad(flat, (0, 0, reach, reach), "reflect"), kernel.view(1, 1, -1, 1))
        flat = conv2d(pad(flat, (reach, reach, 0, 0), "reflect"), kernel.view(1, 1, 1, -1))
        return flat.view_as(x)


@dataclass(frozen=True)
class Cut:
    """Hidden words or sentences are replaced by a token, or cut out where there is none."""

    name: str
    token: str | None

    def versions(self, x: Inputs, kept: Tensor) -> Iterator[Inputs]:
        yield [self._row(row, keep) for row, keep in zip(x, kept.tolist(), strict=True)]

    def _row(self, row: Inputs, keep: list[bool]) -> Inputs:
        if self.token is None:
            return [unit for unit, shown in zip(row, keep, strict=False) if shown]
        return [unit if shown else self._hidden(unit) for unit, shown in zip(row, keep, strict=False)]

    def _hidden(self, unit: Inputs) -> Inputs:
        return self.token if isinstance(unit, str) else [self.token] * len(unit)


def make_removal(name: str, data: Dataset, *, mask_token: str = MASK, draws: int = DRAWS, seed: int = 0) -> Removal:
    """The removal `name` for rows like those of `data`; means and background rows come from the training split."""
    check_removal(name, data.kind)
    if data.layout.is_text:
        return Cut(name, {"pad": PAD, "mask-token": mask_token, "delete": None}[name])
    if name == "blur":
        return BlurFill(name, data.layout, sigma=max(1.0, data.layout.shape[-1] / 8))
    return FixedFill(name, data.layout, _fills(name, data.train.x, draws, seeds.generator(seed)))


def _fills(name: str, x: Tensor, draws: int, rng: torch.Generator) -> Tensor:
    if name == "zero":
        return torch.zeros_like(x[:1])
    if name == "mean":
        return _finite(x.nanmean(0, keepdim=True))
    if name == "noise":
        return x.mean(0) + x.std(0) * torch.randn(draws, *x.shape[1:], generator=rng)
    return x[torch.randint(len(x), (draws,), generator=rng)]  # marginal


def _finite(mean: Tensor) -> Tensor:
    if not bool(mean.isfinite().all()):
        raise InputError(
            "removal 'mean' needs a finite training mean for each column, but one has no finite value; drop it"
        )
    return mean
