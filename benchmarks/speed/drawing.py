"""The relaxed k-hot draw at the size of ImageNet."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from speed.measuring import bar, in_turns, peak
from speed.processes import apart
from unmask import seeds
from unmask.masking.highest import gumbel, highest_share

TAU = 0.5
SIZES = {True: (8, 40, 800), False: (32, 313, 3136)}  # rows, k, units


def k_hot(small: bool) -> dict[str, Any]:
    """The relaxed draw of k units, forward and backward, against the plain version that holds all k draws of all rows.

    Both draw the same noise. Peak memory is that of a process of its own for each version, on top of what it held
    before the draw.
    """
    b, k, d = SIZES[small]
    noise = [_gradient(version, b, k, d) for version in ("plain", "ours")]
    furthest = float((noise[0] - noise[1]).abs().max())
    size = float(noise[0].abs().max())
    versions = ("plain", "ours")
    times = in_turns({v: lambda v=v: _gradient(v, b, k, d) for v in versions}, 3 if small else 7)
    peaks = {v: apart("drawing:most_memory", v, b, k, d) for v in versions}
    rows = [{"version": v, **times[v].columns(), "peak MB": f"{peaks[v]:.0f}"} for v in versions]
    return {
        "bars": [
            bar(4, "k-hot draw, peak memory, share of the plain version", peaks["ours"] / peaks["plain"], most=0.1),
            bar(4, "k-hot draw, time over the plain version", times["ours"].over(times["plain"]), most=1.0),
            bar(4, "k-hot draw, largest difference of gradients over the largest", furthest / size, most=1e-5),
        ],
        "tables": {f"{b} rows, k = {k}, d = {d}: milliseconds for a batch": rows},
    }


def most_memory(version: str, b: int, k: int, d: int) -> float:
    """MB that one draw with its gradient takes."""
    _gradient(version, 1, 1, 8)  # what torch loads at its first draw does not count
    return peak(lambda: _gradient(version, b, k, d))


def plain(s: Tensor, k: int, tau: float, rng: torch.Generator) -> Tensor:
    """As papers and their code have it: k draws of each row, softmax, maximum."""
    noise = gumbel((len(s), k, s.shape[1]), rng)
    return torch.softmax((s[:, None] + noise) / tau, dim=-1).amax(1)


def _gradient(version: str, b: int, k: int, d: int) -> Tensor:
    """(b, d) slope of a fixed weighing of the draw."""
    s = torch.randn(b, d, generator=seeds.generator(1)).requires_grad_()
    weight = torch.linspace(-1, 1, d)
    draw = {"plain": plain, "ours": highest_share}[version]
    (found,) = torch.autograd.grad((draw(s, k, TAU, seeds.generator(2)) * weight).sum(), s)
    return found
