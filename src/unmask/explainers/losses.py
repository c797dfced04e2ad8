"""What a reader of the left-out units is scored by."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["flipped", "sliced_wasserstein"]

DIRECTIONS = 128  # of the sliced Wasserstein distance


def flipped(p: Tensor) -> Tensor:
    """(1 - p) / (c - 1): everything but the answer, as a distribution; for two classes the answer, classes swapped."""
    return (1 - p) / (p.shape[1] - 1)


def sliced_wasserstein(a: Tensor, b: Tensor, rng: torch.Generator) -> Tensor:
    """Distance of two batches of distributions (n, c): mean over directions of the gap between sorted projections.

    It compares the batches as wholes, not row by row. Two classes: equally spaced angles with one random turn.
    """
    if a.shape[1] == 2:
        turn = torch.rand((), generator=rng, device=rng.device).to(a.device)
        angle = 2 * torch.pi * (torch.arange(DIRECTIONS, device=a.device) / DIRECTIONS + turn)
        theta = torch.stack([angle.cos(), angle.sin()])
    else:
        theta = torch.randn(a.shape[1], DIRECTIONS, generator=rng, device=rng.device).to(a.device)
        theta = theta / theta.norm(dim=0)
    return ((a @ theta).sort(0).values - (b @ theta).sort(0).values).abs().mean()
