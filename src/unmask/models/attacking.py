"""Small changes that hurt most: projected gradient ascent, and what it does to a model's word vectors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask import batches, seeds
from unmask.models import attending
from unmask.models.attending import Attentive, Shift, embedding_of, looked, noise, sloping

__all__ = ["STEPS", "ascend", "attacked"]

STEPS = 10
ROWS, ROWS_OF_PIECES = 256, 64  # attacked at once: words, and words of several sub-words each


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


def attacked(
    model: Attentive, rows: tuple[Tensor, Tensor], harm: Callable[[Tensor, Tensor], Tensor], radius: float, seed: int
) -> tuple[Tensor, Tensor]:
    """Raw answers and weights after a change of word vectors, at most `radius` in every place, sought to do harm.

    `rows` are ids as the model reads them and valid (n, d). `harm(raw answers, those to the rows as they are)` gives
    one value for each row.
    """
    rng, embedding = seeds.generator(seeds.derive(seed, "attack")), embedding_of(model.module, x=rows[0])
    found, size = [], batches.together(rows[0], ROWS if rows[0].ndim == 2 else ROWS_OF_PIECES, attending.VALUES)
    for x, valid in zip(*(t.split(size) for t in rows), strict=True):
        x = x.to(model.device)
        with sloping(model.module):
            with torch.no_grad(), Shift(embedding) as shift:
                said = model.module(x)
            there = valid.view(*valid.shape, *[1] * (shift.delta.ndim - 2)).expand_as(shift.delta).to(x.device)

            def moved(delta: Tensor, x: Tensor = x, said: Tensor = said) -> Tensor:
                with Shift(embedding, delta):
                    return harm(model.module(x), said)

            delta = ascend(moved, there, radius, rng)
        with Shift(embedding, delta):
            found.append(looked(model, x))
    raw, weights = zip(*found, strict=True)
    return torch.cat(raw), torch.cat(weights)
