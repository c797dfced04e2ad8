"""SEAT: "SEAT: Stable and Explainable Attention", Hu et al. 2023.

From a trained attention model with weights w and answer p, a copy with weights w~ is trained to

    min  D1(p, y(x, w~)) + lam_overlap L_topk(w, w~) + lam_stable max_{|delta| <= R} D2(y(x, w~), y(x, w~ + delta))

L_topk = (|w - w~| on the top k of w + |w - w~| on those of w~) / 2k. D1 and D2 are cross-entropies, delta is found by
projected gradient ascent on the attention vector over the words of the row (Eq. 6). In use, three things are promised:
the answer is near the old one (gamma), the top k overlap (beta), the answer stands small changes of attention (alpha).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from unmask import distances
from unmask.attention import retraining, words
from unmask.attention.attacks import ascend
from unmask.attention.lessons import Batch, Lesson
from unmask.errors import InputError
from unmask.masking import subsets
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["SEAT", "topk_loss"]

FORMS = ("paper", "development", "released")


@dataclass
class SEAT:
    """`lam_stable` and `lam_overlap` weigh the last and the middle term of the loss.

    `form` "development" and "released" are what the public code does: the first compares answers by total variation,
    those under attack with the old answers; the second learns the labels under attack on word vectors, clamps the
    attacked vectors to [0, 1], and compares the copy's attention with itself, so that it never looks at the old model.
    `lam_words`, which is ours, joins Word-AT to it: the first two terms are also wanted of the row with word vectors
    moved by `eps` against them. Equation 6 moves attention and looks at the answer; only this makes attention steady.
    """

    k: int = 7
    radius: float = 0.05
    lam_stable: float = 1.0
    lam_overlap: float = 100.0
    lam_words: float = 0.0
    eps: float = 1.0
    form: Literal["paper", "development", "released"] = "paper"
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=3, batch=32, rate=5e-4)
    device: str = "auto"
    method: ClassVar[str] = "seat"
    aims: ClassVar[bool] = False
    clone = clone
    explain = retraining.explain

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InputError(f"form must be one of {', '.join(FORMS)}, got {self.form!r}")
        weights = (self.lam_stable, self.lam_overlap, self.lam_words)
        if not (self.radius > 0 and self.eps > 0 and all(lam >= 0 for lam in weights)):
            raise InputError(f"radius and eps must be above 0 and no lam below 0, got {self}")

    def fit(self, model: Any, data: Dataset) -> SEAT:
        found: SEAT = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """(n,) one value for each row."""
        if self.form == "released":
            return self._released(lesson, batch)
        w, states = lesson.student.attend(batch.x)
        said = lesson.student.answer(states, w)
        target = said.softmax(1).detach() if self.form == "paper" else batch.p
        loss = self._near(said, w, batch)
        if self.lam_stable:
            apart, frozen = self._apart, states.detach() if isinstance(states, Tensor) else states
            answer, still = lesson.student.answer, w.detach()  # the attack moves delta alone
            delta = ascend(lambda d: apart(answer(frozen, still + d), target), batch.valid, self.radius, batch.rng)
            loss = loss + self.lam_stable * apart(answer(states, w + delta), target)
        if self.lam_words:
            loss = loss + self.lam_words * words.worst(
                lesson, lambda: self._near(*lesson.student.look(batch.x), batch), self.eps, batch.rng
            )
        return loss

    def _apart(self, raw: Tensor, p: Tensor) -> Tensor:
        return soft_cross_entropy(raw, p) if self.form == "paper" else distances.tvd(raw.softmax(1), p)

    def _near(self, said: Tensor, w: Tensor, batch: Batch) -> Tensor:
        """(n,) how far answer and attention are from the old ones: the first two terms."""
        return self._apart(said, batch.p) + self.lam_overlap * topk_loss(batch.w, w, self.k, batch.valid)

    def _released(self, lesson: Lesson, batch: Batch) -> Tensor:
        """CE(y) + lam_stable CE(y; attacked vectors) + lam_overlap L_topk(attention under attack, clean attention)."""
        w, states = lesson.student.attend(batch.x)
        said, hit = words.attacked(lesson, batch, self.radius)
        near = topk_loss(hit, w, self.k, batch.valid)
        clean, moved = (soft_cross_entropy(raw, batch.y) for raw in (lesson.student.answer(states, w), said))
        return clean + self.lam_stable * moved + self.lam_overlap * near


def topk_loss(a: Tensor, b: Tensor, k: int, valid: Tensor) -> Tensor:
    """(n,) the surrogate of 1 - overlap: (|a - b| on the top k of a + |a - b| on those of b) / 2k (Eq. 5)."""
    either = sum(subsets.topk(part.detach(), k, valid).to(a) for part in (a, b))
    return ((a - b).abs() * either).sum(1) / (2 * k)
