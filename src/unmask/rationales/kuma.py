"""Gates that are exactly closed or open with probability of their own, and have slopes in between.

A Kumaraswamy variable on (0, 1), stretched beyond both ends and clipped (Bastings et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Kuma"]

LOW, HIGH = -0.1, 1.1  # the stretch
EDGE = 1e-3  # of the uniform noise
STEPS = 64  # in which a mean is taken


@dataclass(frozen=True)
class Kuma:
    """Stretched and clipped Kumaraswamy variables with shapes `a` and `b`."""

    a: Tensor
    b: Tensor

    def sample(self, rng: torch.Generator) -> Tensor:
        u = torch.rand(self.a.shape, generator=rng, device=rng.device).to(self.a).clamp(EDGE, 1 - EDGE)
        return self._stretched((1 - (1 - u) ** (1 / self.b)).clamp(1e-6, 1 - 1e-6) ** (1 / self.a))

    def _stretched(self, t: Tensor) -> Tensor:
        return (LOW + (HIGH - LOW) * t).clamp(0.0, 1.0)

    def _below(self, t: float) -> Tensor:
        """The probability that the variable, before the stretch, is at most t."""
        return 1 - (1 - torch.tensor(t, device=self.a.device) ** self.a).clamp(1e-7, 1.0) ** self.b

    @property
    def closed(self) -> Tensor:
        """P(z = 0)."""
        return self._below(-LOW / (HIGH - LOW))

    @property
    def full(self) -> Tensor:
        """P(z = 1)."""
        return 1 - self._below((1 - LOW) / (HIGH - LOW))

    @property
    def mean(self) -> Tensor:
        """The mean of the gate, by equal steps of the noise."""
        u = (torch.arange(STEPS, device=self.a.device) + 0.5) / STEPS
        t = (1 - (1 - u) ** (1 / self.b[..., None])).clamp(1e-6, 1 - 1e-6) ** (1 / self.a[..., None])
        return self._stretched(t).mean(-1)

    def settled(self) -> Tensor:
        """Without noise: 0, 1, or the mean, whichever law (closed, full, in between) is the most likely.

        The published code takes the mean before the stretch, which is that of no gate.
        """
        between = 1 - self.closed - self.full
        ends = (self.full > self.closed).to(self.a)
        return torch.where(between > torch.maximum(self.closed, self.full), self.mean, ends)
