"""MEED: "Adversarial Infidelity Learning for Model Interpretation", Liang et al. 2020.

max_S I(x_S; y) - I(x_rest; y). The selector sees the model's answer (output feedback). In turns on each batch,

    step 1 (A_s, A_u):  min  CE(y, A_s(x * v)) + w CE(y, A_u(x * (1 - v)))
    step 2 (selector):  min  CE(y, A_s(x * v)) + w L_u

where L_u makes A_u fail: `flip`, CE against the other classes; `reverse`, -CE; `swd`, minus the sliced Wasserstein
distance between the batch of answers and that of A_u. A gradient prior may warm the selector up (Eq. 11-13).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving
from unmask.errors import InputError
from unmask.explainers import cures, learned
from unmask.explainers.gradients import GradientXInput
from unmask.explainers.learned import Batch, Lesson
from unmask.explainers.losses import flipped, sliced_wasserstein
from unmask.masking.relax import DRAWS, log_softmax
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["MEED"]

FORMS = ("flip", "reverse", "swd", "none")


@dataclass
class MEED:
    """`weight` is w, `unselected` the form of L_u ("none": no adversary), `draw` "noisy-logit-max" the released code's.
    `activation` is that of the perceptrons for tables.
    `prior` weighs |gradient x input| in: the draw is made from z~, proportional to (z^m r)^(1/(m+1)) in epoch m, so
    that r alone decides at first; `prior_weight` adds mean |z~ - z| / (m + 1). A model without gradients has no prior,
    and `origin` says so. "released": as in the published image code, small gradients are likely and m stays 1.
    """

    k: int
    tau: float = 0.5
    draw: Literal["k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"] = "k-hot"
    unselected: Literal["flip", "reverse", "swd", "none"] = "flip"
    weight: float = 1.0
    activation: Literal["relu", "selu"] = "relu"
    prior: bool | Literal["released"] = True
    prior_weight: float = 0.0
    removal: str | None = None
    feedback: bool = True
    cure: str | None = None
    recipe: Recipe = Recipe(epochs=15, batch=64, rate=1e-3, patience=5)
    device: str = "auto"
    method: ClassVar[str] = "meed"
    readers: ClassVar[dict[str, str]] = {"approximator_": "kept", "rest_": "left"}
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if self.unselected not in FORMS:
            raise InputError(f"unselected must be one of {', '.join(FORMS)}, got {self.unselected!r}")
        if not (self.weight >= 0 and self.prior_weight >= 0):
            raise InputError(f"weights must not be negative, got {self.weight} and {self.prior_weight}")
        if self.prior not in (True, False, "released"):
            raise InputError(f"prior must be True, False or 'released', got {self.prior!r}")

    def build(self, task: Task) -> None:
        self.selector_, self.approximator_ = learned.networks(self, task, lively=True)
        self.rest_ = learned.placed(self, learned.reader_net(self, task, "rest"))

    def fit(self, model: Any, data: Dataset) -> MEED:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        self._log_r = self._log_prior(lesson)
        against = 0.0 if self.unselected == "none" else min(1.0, self.weight)
        readings = cures.train(self, lesson, lambda found: found["fs-m"] - against * found["fu-m"])
        self.readings_ = {**readings, "prior": "none" if self._log_r is None else "gradient x input"}
        del self._log_r
        return self

    def drawing(self, batch: Batch, scores: Tensor) -> Tensor:
        warmed = scores if self._log_r is None or batch.index is None else self._warmed(batch, scores)
        return DRAWS[self.draw](warmed, self.k, self.tau, batch.rng, batch.valid)

    def _warmed(self, batch: Batch, scores: Tensor) -> Tensor:
        """log z~ = (m log z + log r) / (m + 1), up to a constant (Eq. 12).

        The draw of the released image code feels that constant; it gets raw scores for log z, as there.
        """
        log_r = self._log_r[batch.index.cpu()].to(scores.device)  # type: ignore[index,union-attr]
        log_z = scores if self.draw == "noisy-logit-max" else log_softmax(scores, batch.valid)
        m = 1 if self.prior == "released" else batch.epoch
        return (m * log_z + log_r) / (m + 1)

    def reading(self, batch: Batch, v: Tensor) -> Tensor:
        kept = soft_cross_entropy(self.approximator_(batch.x, v), batch.p)
        left = self.rest_(batch.x, batch.valid.to(v) - v)
        if self.unselected == "swd":
            return kept + self.weight * sliced_wasserstein(left.softmax(1), batch.p, batch.rng)
        return kept + self.weight * soft_cross_entropy(left, batch.p)

    def choosing(self, batch: Batch, v: Tensor) -> Tensor:
        loss = soft_cross_entropy(self.approximator_(batch.x, v), batch.p)
        if self.unselected != "none":
            loss = loss + self.weight * self._failing(batch, self.rest_(batch.x, batch.valid.to(v) - v))
        if self._log_r is not None and self.prior_weight:
            loss = loss + self.prior_weight * self._distance(batch)
        return loss

    def _failing(self, batch: Batch, left: Tensor) -> Tensor:
        if self.unselected == "flip":
            return soft_cross_entropy(left, flipped(batch.p))
        if self.unselected == "reverse":
            return -soft_cross_entropy(left, batch.p)
        return -sliced_wasserstein(left.softmax(1), batch.p, batch.rng)

    def _distance(self, batch: Batch) -> Tensor:
        """mean_j |z~_j - z_j| / (m + 1) (Eq. 13)."""
        scores = torch.as_tensor(batch.scores)
        z, warmed = (log_softmax(s, batch.valid).exp() for s in (scores, self._warmed(batch, scores)))
        return (warmed - z).abs().sum(1) / batch.valid.sum(1) / (batch.epoch + 1)

    def _log_prior(self, lesson: Lesson) -> Tensor | None:
        """log r = log softmax(+|GI|): units with a large gradient x input are likely.

        |GI| is taken relative to its mean in the row: the gradients of a sure model are tiny, whatever they point at.
        """
        if not self.prior or lesson.task.ready().module is None:
            return None
        gi = GradientXInput(self.k, absolute=True, removal=self.removal)
        gi.task_ = lesson.task
        try:
            scores = gi.explain(lesson.train.raw, lesson.train.p.argmax(1)).scores
        except InputError:  # a module whose gradients cannot be brought to units
            return None
        if self.prior == "released":
            return log_softmax(-scores, lesson.train.valid)
        mean = scores.sum(1, keepdim=True) / lesson.train.valid.sum(1, keepdim=True)
        return log_softmax(scores / mean.clamp(min=1e-30), lesson.train.valid)
