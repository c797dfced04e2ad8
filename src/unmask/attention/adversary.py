"""An adversarial model: "Attention is not not Explanation", Wiegreffe & Pinter 2019.

A copy of an attention model with weights w and answer p is trained to answer alike and to look elsewhere,

    min  TVD(p~, p) - lam KL(w~ || w)

over the words of a row; padding has no weight in either and does not count. How far attention can be led away while the
answers stay says how much it is bound to them: sweep `lam`, and see TVD rise with the JSD of the two attentions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unmask import distances
from unmask.attention import retraining
from unmask.attention.lessons import Batch, Lesson, looked
from unmask.errors import InputError
from unmask.task import clone
from unmask.training import Recipe
from unmask.types import Dataset

__all__ = ["Adversary"]

CLOSE = 0.05  # change of the answers within which they count as the same, as Jain & Wallace 2019 have it


@dataclass
class Adversary:
    """`lam` weighs how far attention should go; 0 only learns the old answers."""

    k: int = 7
    lam: float = 0.1
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=8, batch=32, rate=1e-3)
    device: str = "auto"
    method: ClassVar[str] = "adversary"
    aims: ClassVar[bool] = False
    clone = clone
    explain = retraining.explain

    def __post_init__(self) -> None:
        if not self.lam >= 0:
            raise InputError(f"lam must not be below 0, got {self.lam}")

    def fit(self, model: Any, data: Dataset) -> Adversary:
        found: Adversary = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """(n,) TVD(p~, p) - lam KL(w~ || w)."""
        w, states = lesson.student.attend(batch.x)
        said = lesson.student.answer(states, w).softmax(1)
        return distances.tvd(said, batch.p) - self.lam * distances.kl(w, batch.w, batch.valid)

    def worth(self, lesson: Lesson) -> tuple[float, dict[str, float]]:
        """How far attention is led away on validation rows while the answers are close; else how near they are."""
        part = lesson.held
        raw, w = looked(lesson.student, part.x)
        tvd = float(distances.tvd(raw.softmax(1), part.p).mean())
        jsd = float(distances.jsd(w, part.w, part.valid).mean())
        return jsd if tvd <= CLOSE else -tvd, {"tvd": round(tvd, 6), "jsd": round(jsd, 6)}
