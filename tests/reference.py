"""Slow and obvious versions of what the package does fast: one row, one unit at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def occlusion(
    predict: Callable[[Any], Tensor],
    x: Sequence[Any],
    units: Sequence[int],
    target: Sequence[int],
    without: Callable[[Any, int], Iterable[Any]],
) -> list[list[float]]:
    """log p(target | row) - log of the mean of p(target | version of the row without unit j), for each of its units.

    `units` says how many each row has; `without(row, j)` gives the versions of one row.
    """
    scores: list[list[float]] = []
    for row, d, t in zip(x, units, target, strict=True):
        full = float(predict(_one(row))[0, t])
        scores.append([])
        for j in range(d):
            left = [float(predict(_one(version))[0, t]) for version in without(row, j)]
            scores[-1].append(math.log(full) - math.log(sum(left) / len(left)))
    return scores


def _one(row: Any) -> Any:
    return row[None] if isinstance(row, Tensor) else [row]


def at_vectors(
    module: nn.Module, table: nn.Embedding, ids: Tensor, target: int, move: Any = None
) -> tuple[Tensor, Tensor]:
    """Word vectors of one row and the gradient of log p(target) at them, after `move(vectors)` where it is given."""
    caught: list[Tensor] = []

    def catch(_module: nn.Module, _inputs: Any, vectors: Tensor) -> Tensor:
        moved = vectors if move is None else move(vectors)
        caught.append(moved.detach().requires_grad_())
        return caught[0]

    handle = table.register_forward_hook(catch)
    try:
        log_p = module(ids[None]).log_softmax(1)[0, target]
    finally:
        handle.remove()
    return caught[0].detach(), torch.autograd.grad(log_p, caught[0])[0]


def integrated_at_vectors(
    module: nn.Module, table: nn.Embedding, ids: Tensor, base: Tensor, target: int, steps: int
) -> Tensor:
    """Integrated gradients of one row's word vectors by the midpoint rule, from the vectors of `base`."""
    with torch.no_grad():
        start, end = table(base), table(ids)
    total = torch.zeros_like(end)
    for i in range(steps):
        place = start + (i + 0.5) / steps * (end - start)
        total += at_vectors(module, table, ids, target, lambda v, place=place: place.view_as(v))[1].view_as(end)
    return (end - start) * total / steps
