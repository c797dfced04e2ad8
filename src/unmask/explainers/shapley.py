"""The game whose gains Shapley values divide: subsets to play with, what they are worth, how well values tell it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask import devices
from unmask.masking import subsets

__all__ = ["Value", "any_part", "efficient", "ends", "many", "misfit", "pairs"]

Value = Callable[[Tensor, Tensor], Tensor]
"""`v(index, kept) -> (m, classes)`: the answer to rows, given by their numbers, of which only `kept` is shown."""


def efficient(phi: Tensor, gain: Tensor, valid: Tensor) -> Tensor:
    """phi (n, d, classes), moved alike at all valid units so that their sum is `gain` (n, classes)."""
    phi = phi * valid[..., None]
    missing = (gain - phi.sum(1)) / valid.sum(1, keepdim=True).clamp(min=1)
    return phi + missing[:, None] * valid[..., None]


def misfit(phi: Tensor, s: Tensor, gain: Tensor, valid: Tensor) -> Tensor:
    """(n,) d (v(S) - v(none) - sum_{i in S} phi_i)^2, a mean over the subsets s (m, n, d) and the classes."""
    with devices.exact():
        off = gain - torch.einsum("mnd,ndc->mnc", s.to(phi), phi)
    return valid.sum(1) * off.square().mean((0, 2))


def pairs(valid: Tensor, samples: int, rng: torch.Generator) -> Tensor:
    """(samples, n, d) bool: subsets by the Shapley kernel, then their complements."""
    s = subsets.shapley(valid.repeat(samples // 2, 1), rng).view(-1, *valid.shape)
    return torch.cat([s, valid & ~s])


def many(v: Value, index: Tensor, s: Tensor) -> Tensor:
    """(m, n, classes) v of m subsets of each row."""
    return v(index.cpu().repeat(len(s)), s.flatten(0, 1).cpu()).view(*s.shape[:2], -1)


def ends(v: Value, valid: Tensor) -> tuple[Tensor, Tensor]:
    """v(none) and v(all) of each row."""
    index = torch.arange(len(valid))
    return v(index, torch.zeros_like(valid)), v(index, valid)


def any_part(valid: Tensor, rng: torch.Generator) -> Tensor:
    """Masks the surrogate learns from: half by the Shapley kernel, half of any size, none and all included."""
    coin = torch.rand(len(valid), 1, generator=rng, device=rng.device).to(valid.device)
    part = subsets.any_size(valid, rng)
    any_size = torch.where(coin < 0.25, part, valid & ~part)  # 1 to d units, or 0 to d - 1
    return torch.where(coin < 0.5, any_size, subsets.shapley(valid, rng))
