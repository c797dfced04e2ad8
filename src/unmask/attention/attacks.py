"""Small changes that hurt most: projected gradient ascent on attention vectors and on word vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unmask.models.attending import Attentive, noise

__all__ = ["ascend", "misled", "unit"]

STEPS = 10
LOW = 1e-12  # below this a change has no length to speak of


def ascend(
    harm: Callable[[Tensor], Tensor], where: Tensor, radius: float, rng: torch.Generator, steps: int = STEPS
) -> Tensor:
    """A change delta with |delta| <= radius in every place and 0 where `where` is 0 that makes `harm(delta)` large.

    Projected gradient ascent from a random start: `steps` steps of 2 radius / steps along the sign of the gradient
    (Madry et al. 2018). `where` has the shape of the change.
    """
    where = where.to(torch.get_default_dtype())
    delta = noise(where.shape, radius, rng).to(where.device) * where
    for _ in range(steps):
        delta = delta.detach().requires_grad_()
        (slope,) = torch.autograd.grad(harm(delta).sum(), delta)
        delta = (delta.detach() + slope.sign() * (2 * radius / steps)).clamp(-radius, radius) * where
    return delta.detach()


def misled(
    model: Attentive,
    seen: tuple[Tensor, Any],
    apart: Callable[[Tensor], Tensor],
    where: Tensor,
    radius: float,
    rng: torch.Generator,
) -> Tensor:
    """Raw answers under the change of attention within the radius that makes `apart` of them largest.

    `seen` are weights and states; only what is answered in the end has slopes, not the search.
    """
    w, states = seen
    frozen, still = states.detach() if isinstance(states, Tensor) else states, w.detach()
    delta = ascend(lambda d: apart(model.answer(frozen, still + d)), where, radius, rng)
    return model.answer(states, w + delta)


def unit(change: Tensor) -> Tensor:
    """Each row divided by its length."""
    size = change.flatten(1).norm(dim=1).clamp(min=LOW)
    found: Tensor = change / size.view(-1, *[1] * (change.ndim - 1))
    return found
