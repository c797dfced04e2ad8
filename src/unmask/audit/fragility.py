"""Can it be made to lie? The input moves a little, the answer stays, and what is kept becomes something else.

"Interpretation of Neural Networks is Fragile", Ghorbani et al. 2019.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.audit.case import Case, Subject, Values, missing, placed, some
from unmask.audit.stability import REACH, reach, shared
from unmask.batches import in_turn
from unmask.errors import UnmaskError
from unmask.models import Wrapped
from unmask.types import Explainer

__all__ = ["RADIUS", "fragility"]

RADIUS = 0.05  # of a column's standard deviation, or of the range of all pixels: a change that people hardly see
ROWS = 100  # of the audited ones, at most
TRIES = 20  # random changes, each after the best one so far
STEPS = 10  # of the attack by gradients
FLIPPED = 0.3  # of the values whose change is turned round in a further try


def fragility(case: Case, subject: Subject) -> Values:
    """max over changes |n| <= radius that keep the answer of 1 - |kept of x and of x + n| / k; lower is better.

    Changes are sought at random, each further one from the best so far, and where the model has gradients also by
    Ghorbani's attack on its saliency: down the slope of the sum of |d log p(target) / d x| over the kept units. All
    are judged by what this explainer says of them. The largest of so many is near 1 by chance. Ghorbani et al. 2019.
    """
    if case.data.layout.is_text:
        return missing(case, "words cannot be moved a little")
    if subject.explainer is None:
        return missing(case, "came ready-made: moved rows cannot be explained")
    index = some(case, ROWS)
    try:
        found, how = _sought(case, subject, subject.explainer, index)
    except UnmaskError as error:
        return missing(case, f"moved rows could not be explained: {error}")
    rows = f"{len(index)} of the rows, " if len(index) < len(case.target) else ""
    return Values(placed(case, index, found), note=f"{rows}{how}")


@dataclass(frozen=True)
class _Ball:
    """Rows, how far each value may move, and the range that values have in the training rows."""

    x: Tensor
    far: Tensor
    low: Tensor
    high: Tensor

    def at(self, direction: Tensor) -> Tensor:
        """The rows moved by direction, in [-1, 1], times the radius; a missing value stays missing."""
        moved = self.x + self.far * direction
        inside = moved.maximum(torch.minimum(self.low, self.x)).minimum(torch.maximum(self.high, self.x))
        return torch.where(self.x.isnan(), self.x, inside)


def _sought(case: Case, subject: Subject, explainer: Explainer, index: Tensor) -> tuple[Tensor, str]:
    """(r,) the largest share of the kept units that was lost, and how it was sought."""
    x, kept, target = case.x[index], subject.kept[index], case.target[index]
    train = case.data.train.x
    fixed = (0, 2, 3) if case.data.kind == "image" else (0,)
    low = train.nan_to_num(nan=torch.inf).amin(fixed, keepdim=True)
    high = train.nan_to_num(nan=-torch.inf).amax(fixed, keepdim=True)
    ball = _Ball(x, RADIUS / REACH * reach(case.data), low, high)

    def lost(direction: Tensor) -> Tensor:
        moved = ball.at(direction)
        same = case.model(moved).argmax(1) == target
        gone = 1 - shared(kept, explainer.explain(moved, target).kept)
        return torch.where(same, gone, torch.where(gone.isnan(), torch.nan, 0.0))

    worst = torch.zeros(len(index))
    best = torch.zeros_like(x)
    rng = seeds.generator(seeds.derive(case.seed, "fragility"))
    with progress.bar(f"{subject.name}: led astray", TRIES) as step:
        for _ in range(TRIES):
            direction = _next(best, rng)
            worst, best = _better(worst, best, lost(direction), direction)
            step("")
    attack = list(_attack(case, ball, kept, target))
    for direction in attack:
        worst, best = _better(worst, best, lost(direction), direction)
    return worst, "by gradients and at random" if attack else "at random"


def _better(worst: Tensor, best: Tensor, found: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
    more = found > worst
    wide = more.view(-1, *[1] * (best.ndim - 1))
    return torch.where(found.isnan() | more, found, worst), torch.where(wide, direction, best)


def _next(best: Tensor, rng: torch.Generator) -> Tensor:
    """The corner of the ball in the best direction so far, some of its signs turned round; at random where none is."""
    corner = torch.where(torch.rand(best.shape, generator=rng) < 0.5, -1.0, 1.0)
    turned = torch.where(torch.rand(best.shape, generator=rng) < FLIPPED, -best, best)
    return torch.where(best == 0, corner, turned)


def _attack(case: Case, ball: _Ball, kept: Tensor, target: Tensor) -> Iterator[Tensor]:
    """Directions on the way down the saliency of the kept units; none where the model has no slopes of slopes."""
    model = case.model
    if not isinstance(model, Wrapped) or model.module is None:
        return
    wide = case.data.layout.spread(kept)
    direction = torch.zeros_like(ball.x)
    for _ in range(STEPS):
        slope = _slope(model, ball, direction, wide, target)
        if slope is None or not bool((slope != 0).any()):
            return
        direction = (direction - 2.5 / STEPS * slope.sign()).clamp(-1, 1)
        yield direction


def _slope(model: Wrapped, ball: _Ball, direction: Tensor, wide: Tensor, target: Tensor) -> Tensor | None:
    """Slope, over the input, of the saliency of the kept units; None where the model gives none."""
    moved = ball.at(direction)
    parts, _ = in_turn(lambda part: _steepest(model, moved[part], wide[part], target[part]), len(moved), len(moved))
    found = [part for part in parts if part is not None]
    return torch.cat(found) if len(found) == len(parts) else None


def _steepest(model: Wrapped, moved: Tensor, wide: Tensor, target: Tensor) -> Tensor | None:
    with torch.enable_grad():
        prepared = model.feed(moved).detach().requires_grad_()
        if prepared.shape != moved.shape:
            return None
        said = model.log_probabilities(prepared).gather(1, target[:, None].to(prepared.device)).sum()
        (saliency,) = torch.autograd.grad(said, prepared, create_graph=True)
        kept = (saliency.abs() * wide.to(saliency.device)).sum()
        if not kept.requires_grad:
            return None
        (found,) = torch.autograd.grad(kept, prepared, allow_unused=True)
    return None if found is None else found.cpu()
