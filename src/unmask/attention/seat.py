"""SEAT: "SEAT: Stable and Explainable Attention", Hu et al. 2023.

From a trained attention model with weights w and answer p, a copy with weights w~ is trained to

    min  D1(p, y(x, w~)) + lam_overlap L_topk(w, w~) + lam_stable max_{|delta| <= R} D2(y(x, w~), y(x, w~ + delta))

under dropout of word vectors, which the paper does not speak of: w~ and y(x, .) are those of what is left.

L_topk = (|w - w~| on the top k of w + |w - w~| on those of w~) / 2k. D1 and D2 are cross-entropies, delta is found by
projected gradient ascent on the attention vector over the words of the row (Eq. 6). In use, three things are promised:
the answer is near the old one (gamma), the top k overlap (beta), the answer stands small changes of attention (alpha).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unmask import saving
from unmask.attention import moving, retraining
from unmask.attention.attacks import misled
from unmask.attention.lessons import Batch, Lesson
from unmask.errors import InputError
from unmask.masking import subsets
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["SEAT", "topk_loss"]


@dataclass
class SEAT:
    """`lam_stable` and `lam_overlap` weigh the last and the middle term of the loss.

    Equation 6 moves attention and looks at the answer. What makes attention itself steady is that the copy has to hit
    the old attention while it learns under `dropout` of word vectors, or, which is ours, under the worst: `lam_words`
    joins Word-AT to it, the first two terms being wanted of the row with word vectors moved by `eps` against them.
    """

    k: int = 7
    radius: float = 0.05
    lam_stable: float = 1.0
    lam_overlap: float = 100.0
    lam_words: float = 0.0
    eps: float = 1.0
    dropout: float = 0.2
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=3, batch=32, rate=5e-4)
    device: str = "auto"
    method: ClassVar[str] = "seat"
    aims: ClassVar[bool] = False
    clone = clone
    build, explain, save = retraining.build, retraining.explain, saving.save

    def __post_init__(self) -> None:
        weights = (self.lam_stable, self.lam_overlap, self.lam_words)
        if not (self.radius > 0 and self.eps > 0 and all(lam >= 0 for lam in weights)):
            raise InputError(f"radius and eps must be above 0 and no lam below 0, got {self}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be from 0 to below 1, got {self.dropout}")

    @property
    def withstood(self) -> float:
        """The radius of changes of attention under which the answer is promised to stand."""
        return self.radius

    def fit(self, model: Any, data: Dataset) -> SEAT:
        found: SEAT = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """(n,) one value for each row."""
        with moving.dropped(lesson, self.dropout, batch.rng):
            w, states = lesson.student.attend(batch.x)
            said = lesson.student.answer(states, w)
            loss = self._near(said, w, batch)
            if self.lam_stable:
                target = said.softmax(1).detach()

                def apart(raw: Tensor) -> Tensor:
                    return soft_cross_entropy(raw, target)

                led = misled(lesson.student, (w, states), apart, batch.valid, self.radius, batch.rng)
                loss = loss + self.lam_stable * apart(led)
            if self.lam_words:
                loss = loss + self.lam_words * moving.worst(
                    lesson, lambda: self._near(*lesson.student.look(batch.x), batch), self.eps, batch.rng
                )
        return loss

    def _near(self, said: Tensor, w: Tensor, batch: Batch) -> Tensor:
        """(n,) how far answer and attention are from the old ones: the first two terms."""
        return soft_cross_entropy(said, batch.p) + self.lam_overlap * topk_loss(batch.w, w, self.k, batch.valid)


def topk_loss(a: Tensor, b: Tensor, k: int, valid: Tensor) -> Tensor:
    """(n,) the surrogate of 1 - overlap: (|a - b| on the top k of a + |a - b| on those of b) / 2k (Eq. 5)."""
    either = sum(subsets.topk(part.detach(), k, valid).to(a) for part in (a, b))
    return ((a - b).abs() * either).sum(1) / (2 * k)
