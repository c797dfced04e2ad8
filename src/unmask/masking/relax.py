"""Differentiable draws: scores over units -> masks that gradients can pass through."""

from __future__ import annotations

import torch
from torch import Tensor

from unmask.masking import subsets

__all__ = ["bernoulli", "gumbel", "gumbel_topk", "k_hot"]

LARGE = 1e9  # far below any score: a unit so marked is never drawn, and differences stay finite


def gumbel(shape: torch.Size | tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Standard Gumbel noise in float32; both logarithms are kept away from zero."""
    u = torch.rand(shape, generator=rng, device=rng.device)
    return -torch.log(-torch.log(u.clamp(torch.finfo(torch.float32).tiny, 1 - 2**-24)))


def k_hot(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """Relaxed k-hot of L2X: v_j = max over k draws of softmax_j((s_j + gumbel) / tau), in (0, 1).

    The draws are independent, that is with replacement: rows sum to at most k. Rows with at most k valid units get all
    of them. Chen et al. 2018, "Learning to Explain".
    """
    s = scores.float().masked_fill(~valid, -LARGE)
    noise = gumbel((len(s), k, s.shape[1]), rng).to(s.device)
    v = torch.softmax((s[:, None] + noise) / tau, dim=-1).amax(1)
    full = valid.sum(1, keepdim=True) <= k
    return torch.where(full, torch.ones_like(v), v) * valid


def gumbel_topk(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """Exactly k units drawn without replacement, hard forward, relaxed backward (straight-through).

    Forward: the k highest of s + gumbel. Backward: k successive softmaxes, each lowering what was taken before
    (Xie & Ermon 2019).
    """
    s = scores.float().masked_fill(~valid, -LARGE)
    noisy = s + gumbel(s.shape, rng).to(s.device)
    hard = subsets.topk(noisy.detach(), k, valid).to(s)
    left, soft = noisy, torch.zeros_like(s)
    for _ in range(min(k, s.shape[1])):
        taken = torch.softmax(left / tau, dim=-1)
        soft = soft + taken
        left = left + torch.log1p(-taken.clamp(max=1 - 1e-6))
    soft = soft * valid
    return hard - soft.detach() + soft


def bernoulli(logits: Tensor, tau: float, rng: torch.Generator, valid: Tensor, hard: bool = False) -> Tensor:
    """Concrete Bernoulli for each unit: sigmoid((logit + logistic noise) / tau); `hard` is straight-through."""
    u = torch.rand(logits.shape, generator=rng, device=rng.device).clamp(1e-6, 1 - 1e-6).to(logits.device)
    soft = torch.sigmoid((logits.float() + torch.log(u) - torch.log1p(-u)) / tau) * valid
    return (soft > 0.5).to(soft) - soft.detach() + soft if hard else soft
