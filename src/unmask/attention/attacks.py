"""The change of attention that hurts most, and changes of a known length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unmask.models.attacking import ascend
from unmask.models.attending import Attentive

__all__ = ["misled", "unit"]

LOW = 1e-12  # below this a change has no length to speak of


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
