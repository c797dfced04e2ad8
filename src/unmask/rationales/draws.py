"""Draws of units to learn from: of a budget, in runs, or of each unit on its own. True and 1 mean kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unmask.masking import relax, subsets
from unmask.masking.highest import gumbel
from unmask.rationales.choosing import number

__all__ = ["Drawn", "draw", "draw_runs", "explored", "gates", "transitions"]


@dataclass(frozen=True)
class Drawn:
    """A draw for each row: hard forward with slopes of a relaxation, its log-probability, and what breaks a budget."""

    kept: Tensor  # (n, d)
    log_prob: Tensor  # (n,)
    excess: Tensor  # (n,) 0 where the number is fixed


def explored(scores: Tensor, valid: Tensor, rate: float) -> Tensor:
    """(n, d) probabilities: softmax of the scores, mixed at `rate` with equal ones over the units that exist."""
    scores = scores.float()
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
    """Runs of `width` units drawn by the mean of their chances (softmax of the scores), which is what `best` smooths.

    Where runs begin is drawn too, and one of them is cut short where that keeps to the budget.
    """
    scores = scores.float()
    shift = int(torch.randint(width, (1,), generator=rng, device=rng.device))
    run = ((torch.arange(valid.shape[1], device=valid.device) + shift) // width).expand_as(valid)  # of each unit
    empty = scores.new_zeros(len(valid), valid.shape[1] // width + 2)
    there = scores.masked_fill(~valid, -torch.inf)  # before exp: whatever stands beyond the end must not overflow
    chances = (there - there.amax(1, keepdim=True).detach().clamp(min=torch.finfo(there.dtype).min)).exp()
    sums, counts = (empty.scatter_add(1, run, t) for t in (chances, valid.to(scores)))
    wanted = number(k, valid)
    runs = torch.minimum((wanted + width - 1) // width, (counts > 0).sum(1))
    found = _drawn((sums / counts.clamp(min=1)).clamp(min=1e-30).log(), counts > 0, runs, rate, rng, tau)
    turn = torch.rand(empty.shape, generator=rng, device=rng.device).to(scores)  # the last run in turn is cut
    inside = subsets.topk((found.kept.detach() * (1 + turn)).gather(1, run), wanted, valid)
    return Drawn(found.kept.gather(1, run) * (inside & valid), found.log_prob, found.excess)


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
    p = (1 - rate) * scores.float().sigmoid() + rate * 0.5
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
