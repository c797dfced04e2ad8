"""Subsets of the valid units: drawn at random, or the k best. True means kept."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "any_size",
    "beginnings",
    "bernoulli",
    "counts",
    "dirichlet",
    "holds_first",
    "places",
    "shapley",
    "share_of",
    "top_share",
    "topk",
    "uniform",
]

SORTED = 2**21  # units that are put in order at a time


def counts(valid: Tensor, k: int | Tensor) -> Tensor:
    """(n,) how many units each row keeps: k, or all of them where the row has fewer."""
    return torch.minimum(valid.sum(1), torch.as_tensor(k, device=valid.device).expand(len(valid)))


def topk(scores: Tensor, k: int | Tensor, valid: Tensor) -> Tensor:
    """(n, d) bool: the k valid units with the highest scores; among equals the lowest index.

    `k` may differ by row. An index rule, never a threshold: exactly min(k, valid units) are kept, ties or not.
    """
    wanted, many = counts(valid, k), _rows_at_once(scores.shape[1])
    if len(scores) <= many:
        return _topk(scores, wanted, valid)
    parts = (t.split(many) for t in (scores, wanted, valid))
    return torch.cat([_topk(*part) for part in zip(*parts, strict=True)])


def _topk(scores: Tensor, wanted: Tensor, valid: Tensor) -> Tensor:
    if scores.shape[1] == 0:
        return torch.zeros_like(valid)
    finite = _comparable(scores, valid)
    last = (finite.shape[1] - wanted[:, None]).clamp_(max=finite.shape[1] - 1)
    level = _ascending(finite).gather(1, last)  # the lowest score that is kept
    kept = finite >= level
    if bool((kept.sum(1) == wanted).all()):
        return kept
    above = finite > level  # several units have the lowest score: those at the lowest places are kept
    short = wanted[:, None] - above.sum(1, keepdim=True)
    ties = kept & ~above
    return (above | (ties & (ties.cumsum(1) <= short))) & valid


def places(scores: Tensor, valid: Tensor) -> Tensor:
    """(n, d) the place of each unit in the order of `topk`, from 0, the highest score; what is not valid comes last."""
    order = _comparable(scores, valid).sort(dim=1, descending=True, stable=True).indices
    rank = torch.arange(scores.shape[1], device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, rank)


def _comparable(scores: Tensor, valid: Tensor) -> Tensor:
    """The scores, -inf where not valid: a valid -inf still goes before that; what is no number counts as +inf."""
    least = torch.finfo(scores.dtype).min
    return scores.detach().nan_to_num(torch.inf, torch.inf, least).masked_fill_(~valid, -torch.inf)


def _ascending(scores: Tensor) -> Tensor:
    """(n, d) each row in order. Values alone: on a processor numpy sorts them many times faster than torch does."""
    if scores.device.type != "cpu" or scores.dtype not in (torch.float32, torch.float64):
        return scores.sort(dim=1).values
    return torch.from_numpy(np.sort(scores.numpy(), axis=1))


def _rows_at_once(d: int) -> int:
    """Rows that are sorted together: orders take many times the memory of what is kept."""
    return max(1, SORTED // max(1, d))


def top_share(scores: Tensor, share: float, valid: Tensor) -> Tensor:
    """(n, d) bool: the best `share` of the valid units of each row, rounded up."""
    return topk(scores, share_of(share, valid), valid)


def share_of(share: float | Tensor, valid: Tensor) -> Tensor:
    """(n,) how many units the `share` of each row's valid ones is, rounded up; (s, n) for several shares (s, 1)."""
    return (share * valid.sum(1).double() - 1e-6).ceil().long()


def uniform(valid: Tensor, k: int | Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) bool: k-subsets of the valid units, all equally likely."""
    return topk(_noise(valid, rng), k, valid)


def bernoulli(valid: Tensor, p: float | Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) bool: each valid unit kept with probability p, on its own; p may differ by unit."""
    return (_noise(valid, rng) < p) & valid


def any_size(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) bool: a size uniform over 1..valid units, then a uniform subset of that size."""
    size = 1 + (torch.rand(len(valid), generator=rng, device=rng.device).to(valid.device) * valid.sum(1)).long()
    return uniform(valid, size, rng)


def shapley(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) bool: sizes s of 1..L-1 with probability proportional to 1 / (s (L - s)), then a uniform subset.

    This is the Shapley kernel's law over sizes; rows with a single unit keep it.
    """
    length = valid.sum(1, keepdim=True)
    s = torch.arange(1, valid.shape[1] + 1, device=valid.device)
    weight = torch.where(s < length, 1.0 / (s * (length - s)).clamp(min=1), 0.0)
    weight = torch.where((length <= 1) & (s == 1), 1.0, weight)
    size = 1 + torch.multinomial(weight.to(rng.device), 1, generator=rng)[:, 0].to(valid.device)
    return uniform(valid, size, rng)


def dirichlet(valid: Tensor, concentration: float, rng: torch.Generator) -> Tensor:
    """(n, d) float: random weights over the valid units that sum to one; a row without any unit stays zero."""
    alpha = torch.full(valid.shape, concentration, dtype=torch.float32, device=rng.device)
    weight = torch._standard_gamma(alpha, generator=rng).to(valid.device).clamp(min=1e-20) * valid
    return weight / weight.sum(1, keepdim=True).clamp(min=1e-20)


def holds_first(kept: Tensor, valid: Tensor) -> Tensor:
    """(n,) bool: whether the first unit of the row is kept."""
    return (kept & valid & (valid.cumsum(1) == 1)).any(1)


def beginnings(kept: Tensor) -> Tensor:
    """Share of the rows whose first kept unit stands at each place; a row that keeps nothing begins nowhere."""
    return torch.bincount(kept[kept.any(1)].int().argmax(1), minlength=1).float() / max(1, len(kept))


def _noise(valid: Tensor, rng: torch.Generator) -> Tensor:
    return torch.rand(valid.shape, generator=rng, device=rng.device).to(valid.device)
