"""The selections every explanation has to beat; they keep as many units as the explanation beside them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.masking import subsets

__all__ = ["CONTROLS", "control_scores", "first_k", "last_k", "random_k"]


def random_k(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) scores that rank the valid units at random."""
    return torch.rand(valid.shape, generator=rng)


def first_k(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) scores that rank the units from the first to the last."""
    return -torch.arange(valid.shape[1], dtype=torch.float32).expand(valid.shape)


def last_k(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) scores that rank the units from the last valid one to the first."""
    return torch.arange(valid.shape[1], dtype=torch.float32).expand(valid.shape)


CONTROLS: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "random": random_k,
    "first-k": first_k,
    "last-k": last_k,
}


def control_scores(name: str, valid: Tensor, k: int | Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Scores and kept units, both (n, d), of the control `name`."""
    scores = CONTROLS[name](valid, rng)
    return scores, subsets.topk(scores, k, valid)
