"""What a reader of the left-out units is scored by."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["denying", "flipped", "sliced_wasserstein"]

DIRECTIONS = 128  # of the sliced Wasserstein distance


def flipped(p: Tensor) -> Tensor:
    """(1 - p) / (c - 1): everything but the answer, as a distribution; for two classes the answer, classes swapped."""
    return (1 - p) / (p.shape[1] - 1)


def denying(logits: Tensor, p: Tensor) -> Tensor:
    """(n,) -log P(an answer other than p's), that is -log sum_c (1 - p_c) q_c, q the reader's answer.

    Any other answer will do, however sure it is. Cross-entropy against `flipped` wants all other classes alike: with
    more than two classes it punishes a reader that is sure of a wrong one, which is what models are of a row in pieces.
    """
    return -torch.logsumexp(logits.log_softmax(1) + (1 - p).clamp(min=1e-6).log(), 1)


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
