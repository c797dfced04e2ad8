"""How many units a rationale holds, which are the best, and draws to learn from. True and 1 mean kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.masking import relax, subsets
from unmask.masking.highest import gumbel

__all__ = ["Drawn", "best", "check", "draw", "draw_runs", "explored", "gates", "number", "transitions"]


@dataclass(frozen=True)
class Drawn:
    """A draw for each row: hard forward with slopes of a relaxation, its log-probability, and what breaks a budget."""

    kept: Tensor  # (n, d)
    log_prob: Tensor  # (n,)
    excess: Tensor  # (n,) 0 where the number is fixed


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


def explored(scores: Tensor, valid: Tensor, rate: float) -> Tensor:
    """(n, d) probabilities: softmax of the scores, mixed at `rate` with equal ones over the units that exist."""
    p = scores.masked_fill(~valid, torch.finfo(scores.dtype).min).softmax(1) * valid
    return (1 - rate) * p + rate * valid / valid.sum(1, keepdim=True).clamp(min=1)


def draw(scores: Tensor, valid: Tensor, k: int | float, rate: float, rng: torch.Generator, tau: float = 1.0) -> Drawn:
    """Units drawn one after the other without replacement, by their explored probabilities (Plackett & Luce).

    Slopes are those of the number kept times the softmax of the same noisy scores (straight-through Gumbel).
    """
    return _drawn(scores, valid, number(k, valid), rate, rng, tau)


def draw_runs(
    scores: Tensor, valid: Tensor, k: int | float, width: int, rate: float, rng: torch.Generator, tau: float = 1.0
) -> Drawn:
    """Runs of `width` units drawn by the mean of their scores: as what `best` keeps when it smooths, not scattered."""
    shift = int(torch.randint(width, (1,), generator=rng, device=rng.device))  # where runs begin is drawn too
    run = ((torch.arange(valid.shape[1], device=valid.device) + shift) // width).expand_as(valid)  # of each unit
    empty = scores.new_zeros(len(valid), valid.shape[1] // width + 2)
    sums, counts = (empty.scatter_add(1, run, t) for t in (scores * valid, valid.to(scores)))
    wanted = torch.minimum(((number(k, valid) + width / 2) // width).long().clamp(min=1), (counts > 0).sum(1))
    found = _drawn(sums / counts.clamp(min=1), counts > 0, wanted, rate, rng, tau)
    return Drawn(found.kept.gather(1, run) * valid, found.log_prob, found.excess)


def _drawn(scores: Tensor, valid: Tensor, wanted: Tensor, rate: float, rng: torch.Generator, tau: float) -> Drawn:
    log_p = explored(scores, valid, rate).clamp(min=1e-20).log()
    noisy = (log_p + gumbel(log_p.shape, rng).to(log_p)).masked_fill(~valid, torch.finfo(log_p.dtype).min)
    hard = subsets.topk(noisy.detach(), wanted, valid)
    soft = (noisy / tau).softmax(1) * wanted[:, None] * valid
    most = int(wanted.max()) if len(wanted) else 0
    order = noisy.detach().sort(1, descending=True).indices[:, :most]
    each = log_p.gather(1, order)
    before = nn.functional.pad(each.exp().cumsum(1), (1, 0))[:, :-1]
    counts = torch.arange(most, device=order.device) < wanted[:, None]
    log_prob = ((each - (1 - before).clamp(min=1e-6).log()) * counts).sum(1)
    return Drawn(hard.to(soft) - soft.detach() + soft, log_prob, torch.zeros_like(log_prob))


def gates(scores: Tensor, valid: Tensor, k: int | float, rate: float, rng: torch.Generator, tau: float = 1.0) -> Drawn:
    """Each unit kept or not on its own; the number is free, and what it differs from the budget is the excess.

    `excess` is |share kept - share wanted| + the share of neighbours of which one is kept and the other not. Published
    forms weigh the two apart and count the ends of a single run as well; here these are free.
    """
    p = (1 - rate) * scores.sigmoid() + rate * 0.5
    logit = p.clamp(1e-6, 1 - 1e-6).logit()
    kept = relax.bernoulli(logit, tau, rng, valid, hard=True)
    log_prob = relax.log_bernoulli(logit, kept.detach(), valid)
    length = valid.sum(1).clamp(min=1)
    wanted = number(k, valid) / length
    return Drawn(kept, log_prob, (kept.sum(1) / length - wanted).abs() + transitions(kept, valid))


def transitions(kept: Tensor, valid: Tensor) -> Tensor:
    """(n,) changes between neighbours, as a share of the units; the first two changes, those of one run, are free."""
    both = valid[:, 1:] & valid[:, :-1]
    changes = ((kept[:, 1:] - kept[:, :-1]).abs() * both).sum(1)
    return (changes - 2).clamp(min=0) / valid.sum(1).clamp(min=1)
