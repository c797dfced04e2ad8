"""The highest of k relaxed draws, many of which are never held at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

__all__ = ["gumbel", "highest_share"]

FEW = 2**22  # numbers in all draws of all rows: so many are kept for the gradient, which is quicker
HELD = 2**18  # made at a time, as a processor's caches hold: some rows, at least one, with all their draws


def gumbel(shape: torch.Size | tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Standard Gumbel noise in float32; both logarithms are kept away from zero."""
    u = torch.rand(shape, generator=rng, device=rng.device)
    return u.clamp_(torch.finfo(torch.float32).tiny, 1 - 2**-24).log_().neg_().log_().neg_()


def highest_share(s: Tensor, k: int, tau: float, rng: torch.Generator) -> Tensor:
    """(n, d) the maximum over k draws of softmax((s + gumbel) / tau).

    Few draws (FEW numbers) are kept for the gradient. Of more only the maximum is kept, so that memory does not grow
    with k, and the gradient draws the same noise again. With c_l the softmax of draw l, and w_l the sum of g_j v_j over
    the units whose maximum v_j draw l holds,

        d loss / d s_i = (g_i v_i - sum_l w_l c_li) / tau.
    """
    found: Tensor = _Highest.apply(s, k, tau, rng)  # type: ignore[no-untyped-call]
    return found


class _Highest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, s: Tensor, k: int, tau: float, rng: torch.Generator) -> Tensor:
        ctx.settings = k, tau, rng.device, rng.get_state()
        v, ctx.kept = torch.empty_like(s), []
        for rows in _some(s, k):
            c = _shares(s[rows], k, tau, rng)
            torch.amax(c, 1, out=v[rows])
            if s.numel() * k <= FEW:
                ctx.kept.append(c)
        ctx.save_for_backward(s, v)
        return v

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        (s, v), (k, tau, device, state) = ctx.saved_tensors, ctx.settings
        rng = torch.Generator(device)
        rng.set_state(state)
        found = g * v
        for i, rows in enumerate(_some(s, k)):
            c = ctx.kept[i] if ctx.kept else _shares(s[rows], k, tau, rng)
            holds = (c == v[rows, None]).to(c)  # the same noise gives the very same numbers
            w = torch.bmm(holds, (found[rows] / holds.sum(1))[..., None])  # (rows, k, 1), draws that tie share
            found[rows] -= torch.bmm(w.mT, c)[:, 0]
        return found / tau, None, None, None


def _shares(s: Tensor, k: int, tau: float, rng: torch.Generator) -> Tensor:
    """(n, k, d) each draw's shares, which sum to one."""
    noisy = gumbel((len(s), k, s.shape[1]), rng).to(s.device)
    noisy = noisy.add_(s[:, None]).div_(tau)
    return torch.softmax(noisy, dim=-1)


def _some(s: Tensor, k: int) -> Iterator[slice]:
    """A few rows at a time, one at least."""
    step = max(1, HELD // (k * s.shape[1]))
    return (slice(start, start + step) for start in range(0, len(s), step))
