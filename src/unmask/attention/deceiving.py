"""Attention that deceives: "Learning to Deceive with Attention-Based Explanations", Pruthi et al. 2020.

A copy of an attention model is trained to answer as well as before while paying no attention to the words I that it
must not be seen to use. With m the marks of these words and alpha the attention,

    loss = CE(y) - lam log(1 - alpha . m)

The copy still reads those words: what they say reaches the answer through the states of other words, or through a
trace of weight on large states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from unmask import seeds
from unmask.attention import retraining
from unmask.attention.lessons import Batch, Lesson, looked
from unmask.errors import InputError
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["Deceptive", "concealment", "on_marked"]

HIDDEN = 0.01  # mass on the words to hide below which nobody would see them
FULL = 1 - 1e-6  # of the mass that counts: the loss is finite where all of it is on the words, and still has a slope


@dataclass
class Deceptive:
    """`words` are those to be kept from sight; `lam` weighs the deceit, 0 is honest further training."""

    words: tuple[str, ...] = ()
    k: int = 7
    lam: float = 1.0
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=8, batch=32, rate=5e-3)
    device: str = "auto"
    method: ClassVar[str] = "deceptive"
    aims: ClassVar[bool] = False
    clone = clone
    explain = retraining.explain

    def __post_init__(self) -> None:
        if not isinstance(self.words, tuple) or not self.words:
            raise InputError(f"words must name the words to hide, such as ('he', 'she'), got {self.words!r}")
        if not self.lam >= 0:
            raise InputError(f"lam must not be below 0, got {self.lam}")

    def fit(self, model: Any, data: Dataset) -> Deceptive:
        found: Deceptive = retraining.fit(self, model, data)
        return found

    def begin(self, lesson: Lesson) -> None:
        """Draw the student's attention anew: the paper learns it from the start, and sharp attention has no slope."""
        parts = lesson.student.attention.modules() if self.lam else ()
        with seeds.seeded(seeds.derive(self.recipe.seed, "attention anew")):
            for part in parts:
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()  # type: ignore[operator]

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """(n,) CE(y) - lam log(1 - alpha . m)."""
        w, states = lesson.student.attend(batch.x)
        clean = soft_cross_entropy(lesson.student.answer(states, w), batch.y)
        return clean + self.lam * concealment(w, batch.marked)

    def worth(self, lesson: Lesson) -> tuple[float, dict[str, float]]:
        """Accuracy less mass on validation rows, once the words are out of sight; before that, how little is on them.

        The mass is that of the rows which hold such words.
        """
        part = lesson.held
        raw, w = looked(lesson.student, part.x)
        right = float((raw.argmax(1) == part.y).float().mean())
        mass = float(on_marked(w, part.marked).sum() / on_marked(part.valid, part.marked).count_nonzero())
        value = right - mass if mass < HIDDEN or self.lam == 0 else -mass
        return value, {"accuracy": round(right, 4), "mass": round(mass, 6)}


def concealment(w: Tensor, marked: Tensor | None) -> Tensor:
    """(n,) -log(1 - mass on the marked words): 0 where there is none, finite where it is all."""
    return -torch.log1p(-FULL * on_marked(w, marked))


def on_marked(w: Tensor, marked: Tensor | None) -> Tensor:
    """(n,) what of `w` lies on the words to hide."""
    if marked is None:
        raise TypeError("no words are marked in these rows")
    return (w * marked).sum(1)
