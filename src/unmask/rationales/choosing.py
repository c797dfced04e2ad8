"""How many units a rationale holds, and which are the best. True and 1 mean kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.masking import subsets

__all__ = ["best", "check", "number"]


def check(own: Any) -> None:
    """Refuse settings that no rationale model has; a budget is k units of each row, or a share between 0 and 1."""
    k = own.k
    whole = isinstance(k, int) and not isinstance(k, bool) and k >= 1
    if not whole and not (isinstance(k, float) and 0 < k < 1):
        raise InputError(f"k must be a number of units, 1 or more, or a share between 0 and 1; got {k!r}")
    if not 0 <= (getattr(own, "explore", None) or 0.0) < 1:
        raise InputError(f"explore must be from 0 to below 1, got {own.explore}")
    if not getattr(own, "tau", 1.0) > 0:
        raise InputError(f"tau must be above 0, got {own.tau}")
    if getattr(own, "lam", 0.0) < 0 or own.skew < 0:
        raise InputError(f"lam and skew must not be negative, got {getattr(own, 'lam', 0.0)} and {own.skew}")


def number(k: int | float, valid: Tensor) -> Tensor:
    """(n,) units to keep: k, or that share of the row's units, one at least; never more than there are."""
    length = valid.sum(1)
    wanted = (length * k).round().long().clamp(min=1) if isinstance(k, float) else torch.full_like(length, k)
    return torch.minimum(wanted, length)


def best(scores: Tensor, valid: Tensor, k: int | float, smooth: int = 1, spans: int | None = None) -> Tensor:
    """(n, d) bool: the units with the highest scores; scores may be averaged over neighbours first (`smooth`).

    With `spans` at most that many runs of neighbours are kept: the best run, then the best of what is left; where no
    whole run fits any more, those that are there grow.
    """
    wanted = number(k, valid)
    if smooth > 1 or spans is not None:
        scores = scores.masked_fill(~valid, -torch.inf).softmax(1)
    if smooth > 1:
        scores = _window(scores, smooth) / _window(valid.float(), smooth).clamp(min=1e-9)
    return subsets.topk(scores, wanted, valid) if spans is None else _runs(scores, valid, wanted, spans)


def _window(values: Tensor, width: int) -> Tensor:
    """(n, d) sums over the unit and its neighbours, `width` in all."""
    return nn.functional.avg_pool1d(values[:, None], width, 1, width // 2, count_include_pad=True)[:, 0] * width


def _runs(scores: Tensor, valid: Tensor, wanted: Tensor, spans: int) -> Tensor:
    """Runs of equal length (the last takes what is left of the budget), the highest sums first."""
    kept, places = torch.zeros_like(valid), torch.arange(valid.shape[1], device=valid.device)
    length = valid.sum(1)
    size = (wanted + spans - 1) // spans
    for _ in range(spans):
        run = torch.minimum(size, wanted - kept.sum(1))
        ends = (places + run[:, None]).clamp(max=valid.shape[1])
        sums = nn.functional.pad((scores.double() * ~kept).cumsum(1), (1, 0))
        taken = nn.functional.pad(kept.long().cumsum(1), (1, 0))
        worth = sums.gather(1, ends) - sums[:, :-1]
        fits = (places + run[:, None] <= length[:, None]) & (taken.gather(1, ends) == taken[:, :-1])
        start = worth.masked_fill(~fits, -torch.inf).argmax(1, keepdim=True)
        open_ = fits.any(1, keepdim=True) & (run > 0)[:, None]
        kept = kept | ((places >= start) & (places < start + run[:, None]) & open_)
    while bool((short := kept.sum(1) < wanted).any()):  # grow by the best unit beside a run
        beside = (_window(kept.float(), 3) > 0) & ~kept & valid
        kept = kept | (subsets.topk(scores, 1, beside) & short[:, None])
    return kept & valid
