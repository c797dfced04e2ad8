"""Word vectors of an attention model moved: along a gradient, against a loss, or dropped in part."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from unmask.attention.attacks import unit
from unmask.attention.lessons import Batch, Lesson
from unmask.models.attacking import STEPS
from unmask.models.attending import RADIUS, Shift, noise
from unmask.training import soft_cross_entropy

__all__ = ["adversarial", "attacked", "dropped", "length", "moved", "slope", "worst"]


def length(lesson: Lesson, eps: float) -> float:
    """`eps`, in proportion where the model's vectors are too small for the usual noise."""
    return eps * lesson.reach / RADIUS


def slope(lesson: Lesson, batch: Batch, target: Tensor) -> Tensor:
    """The gradient of the student's loss at the word vectors, of their shape; nothing of it reaches the student."""
    return uphill(lesson, lambda: soft_cross_entropy(lesson.student.module(batch.x), target))


def uphill(lesson: Lesson, loss: Callable[[], Tensor], start: Callable[[Tensor], Tensor] = torch.zeros_like) -> Tensor:
    """The gradient of a loss of the student at its word vectors, moved by `start(vectors)`."""
    with Shift(lesson.embedding, start, lesson.still), Shift(lesson.embedding, still=lesson.still) as shift:
        total = loss().sum()
    return torch.autograd.grad(total, shift.delta)[0]


def dropped(lesson: Lesson, rate: float, rng: torch.Generator) -> AbstractContextManager[object]:
    """Inside, values of the student's word vectors are 0 at this rate, the same ones however often it is asked."""
    if not rate:
        return nullcontext()
    drawn: dict[torch.Size, Tensor] = {}  # a model may look up more than its rows, such as a title

    def by(vectors: Tensor) -> Tensor:
        if vectors.shape not in drawn:
            left = torch.rand(vectors.shape, generator=rng, device=rng.device) >= rate
            drawn[vectors.shape] = left.to(vectors)
        return vectors * (drawn[vectors.shape] / (1 - rate) - 1)

    return Shift(lesson.embedding, by)


def worst(lesson: Lesson, loss: Callable[[], Tensor], eps: float, rng: torch.Generator) -> Tensor:
    """(n,) a loss of the student where word vectors are moved by eps against it.

    The way is that of the gradient near the row, not at it: what is smallest at the row has no gradient there.
    """
    far = lesson.reach
    near = uphill(lesson, loss, lambda vectors: noise(vectors.shape, far, rng).to(vectors))
    with Shift(lesson.embedding, length(lesson, eps) * unit(near)):
        return loss()


def moved(lesson: Lesson, batch: Batch, by: Tensor) -> Tensor:
    """The student's raw answer when word vectors are moved."""
    with Shift(lesson.embedding, by):
        found: Tensor = lesson.student.module(batch.x)
    return found


def adversarial(lesson: Lesson, batch: Batch, target: Tensor, eps: float) -> Tensor:
    """(n,) loss against `target` (classes or probabilities) where the row's vectors are moved by eps against it."""
    by = length(lesson, eps) * unit(slope(lesson, batch, target))
    return soft_cross_entropy(moved(lesson, batch, by), target)


def attacked(lesson: Lesson, batch: Batch, radius: float, steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Answer and attention under the attack of SEAT's released code.

    Steps along the sign of the gradient of |y - p| from a random start; the attacked vectors are cut to [0, 1], as
    there: negative coordinates become 0 whatever the radius.
    """
    sure = nn.functional.one_hot(batch.y, batch.p.shape[1]).to(batch.p)
    by = noise(slope(lesson, batch, batch.y).shape, radius, batch.rng).to(batch.p)
    for _ in range(steps):
        with Shift(lesson.embedding, _cut(by)), Shift(lesson.embedding) as after:
            apart = (lesson.student.module(batch.x).softmax(1) - sure).abs().sum() / 2
        by = (by + torch.autograd.grad(apart, after.delta)[0].sign() * (2 * radius / steps)).clamp(-radius, radius)
    with Shift(lesson.embedding, _cut(by)):
        w, states = lesson.student.attend(batch.x)
        return lesson.student.answer(states, w), w


def _cut(by: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda vectors: (vectors + by).clamp(0, 1) - vectors
