"""What the public code of SEAT does, where it is not what the paper says (Hu et al. 2023).

    development:  TVD(p, y(w~)) + lam_overlap L_topk(w, w~) + lam_stable TVD(p, y(w~ + delta))
    released:     CE(y) + lam_overlap L_topk(w~ under attack, w~) + lam_stable CE(y; attacked word vectors)

The first, an older version, measures by total variation, and both times from the old answer. The second learns the
labels under attack on word vectors, cuts the attacked vectors to [0, 1], and compares the copy's attention with itself:
it never looks at the old model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from unmask import distances, saving
from unmask.attention import moving, retraining
from unmask.attention.attacks import misled
from unmask.attention.lessons import Batch, Lesson
from unmask.attention.seat import topk_loss
from unmask.errors import InputError
from unmask.models.attending import RADIUS
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["CodedSEAT"]


@dataclass
class CodedSEAT:
    """`radius` is that of the attack: on attention in the form "development", on word vectors in "released"."""

    k: int = 7
    radius: float = 0.01
    lam_stable: float = 1.0
    lam_overlap: float = 1000.0
    form: Literal["development", "released"] = "released"
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=3, batch=32, rate=5e-4)
    device: str = "auto"
    aims: ClassVar[bool] = False
    clone = clone
    build, explain, save = retraining.build, retraining.explain, saving.save

    def __post_init__(self) -> None:
        if self.form not in ("development", "released"):
            raise InputError(f"form must be development or released, got {self.form!r}")
        if not (self.radius > 0 and self.lam_stable >= 0 and self.lam_overlap >= 0):
            raise InputError(f"radius must be above 0 and no lam below 0, got {self}")

    @property
    def method(self) -> str:
        return f"seat-{self.form}"

    @property
    def withstood(self) -> float:
        """As SEAT's; the released code attacks word vectors instead, and is read at the usual radius."""
        return self.radius if self.form == "development" else RADIUS

    def fit(self, model: Any, data: Dataset) -> CodedSEAT:
        found: CodedSEAT = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """(n,) one value for each row."""
        w, states = lesson.student.attend(batch.x)
        said = lesson.student.answer(states, w)
        if self.form == "development":

            def apart(raw: Tensor) -> Tensor:
                return distances.tvd(raw.softmax(1), batch.p)

            near = apart(said) + self.lam_overlap * topk_loss(batch.w, w, self.k, batch.valid)
            led = misled(lesson.student, (w, states), apart, batch.valid, self.radius, batch.rng)
            return near + self.lam_stable * apart(led)
        hit, looks = moving.attacked(lesson, batch, self.radius)
        clean, moved = (soft_cross_entropy(raw, batch.y) for raw in (said, hit))
        return clean + self.lam_stable * moved + self.lam_overlap * topk_loss(looks, w, self.k, batch.valid)
