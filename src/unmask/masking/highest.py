"""The highest of k relaxed draws, many of which are never held at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

__all__ = ["gumbel", "highest_share"]

FEW = 2**22  # numbers in all draws of all rows: so many are kept for the gradient, which is quicker
HELD = 2**18  # made at a time, as a processor's caches hold: some rows, at least one, with all their draws


def gumbel(shape: torch.Size | tuple[int, ...], rng: torch.Generator, out: Tensor | None = None) -> Tensor:
    """Standard Gumbel noise in float32, in `out` where it is given; both logarithms are kept away from zero."""
    u = torch.empty(shape, device=rng.device) if out is None else out
    u.uniform_(generator=rng)
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
        blocks = _Blocks()
        for rows in _some(s, k):
            noisy = _noisy(s[rows], k, tau, rng, blocks)
            if s.numel() * k <= FEW:
                ctx.kept.append(noisy.softmax(-1))
            torch.amax(ctx.kept[-1] if ctx.kept else _shares(noisy, blocks), 1, out=v[rows])
        ctx.save_for_backward(s, v)
        return v

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        (s, v), (k, tau, device, state) = ctx.saved_tensors, ctx.settings
        rng = torch.Generator(device)
        rng.set_state(state)
        found, blocks = g * v, _Blocks()
        for i, rows in enumerate(_some(s, k)):
            if ctx.kept:
                c = ctx.kept[i]
                holds = (c == v[rows, None]).to(c)
            else:  # the same noise gives the very same numbers, and is not needed any more
                noisy = _noisy(s[rows], k, tau, rng, blocks)
                c = _shares(noisy, blocks)
                holds = torch.eq(c, v[rows, None], out=noisy)
            w = torch.bmm(holds, (found[rows] / holds.sum(1))[..., None])  # (rows, k, 1), draws that tie share
            found[rows] -= torch.bmm(w.mT, c)[:, 0]
        return found / tau, None, None, None


class _Blocks:
    """Memory for the draws of some rows, used again for the next: blocks that are asked for anew lie scattered."""

    def __init__(self) -> None:
        self.made: dict[str, Tensor] = {}

    def get(self, name: str, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """The block of that name, in this shape; the first rows are the most."""
        size = math.prod(shape)
        if name not in self.made:
            self.made[name] = torch.empty(size, device=device)
        return self.made[name][:size].view(shape)


def _noisy(s: Tensor, k: int, tau: float, rng: torch.Generator, blocks: _Blocks) -> Tensor:
    """(n, k, d) scores and noise of each draw, by the temperature."""
    shape = (len(s), k, s.shape[1])
    noise = gumbel(shape, rng, blocks.get("noise", shape, rng.device)).to(s.device)
    return noise.add_(s[:, None]).div_(tau)


def _shares(noisy: Tensor, blocks: _Blocks) -> Tensor:
    """(n, k, d) each draw's shares, which sum to one."""
    return torch.softmax(noisy, -1, out=blocks.get("shares", tuple(noisy.shape), noisy.device))


def _some(s: Tensor, k: int) -> Iterator[slice]:
    """A few rows at a time, one at least."""
    step = max(1, HELD // (k * s.shape[1]))
    return (slice(start, start + step) for start in range(0, len(s), step))
