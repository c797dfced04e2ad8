"""Mimic: the approximator learns what the model says to what is shown.

Approximators trained on (x_S, M(x)), the answer to the *full* row, reward a code in the choice of S. Here A learns from
(x_S, M(x_S)), on the selector's own masks, so that a code is worth nothing unless the model itself answers to it:

    step 1 (A):         min  CE(M(x_S), A(x * v)) + CE(M(x_rest), A(x * (1 - v)))     hard S and relaxed v of one draw
    step 2 (selector):  min  CE(p, A(x * v)) + lam D(p, A(x * (1 - v))) + mu CE(p, J(x * v))

D(p, q) = -log sum_c (1 - p_c) q_c. Three voices: the model on what is shown, the model on what is left out (it should
say anything else), and a neutral judge J that learned from random masks what the *values* tell. The model is only ever
called on rows with units removed: a black box is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import nets, saving, seeds
from unmask.errors import InputError
from unmask.explainers import cures, learned
from unmask.explainers.learned import Batch, Lesson
from unmask.explainers.losses import denying
from unmask.explainers.pretraining import pretrain, random_masks
from unmask.judge import Judge
from unmask.masking import subsets
from unmask.models import shown
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset, rows_of

__all__ = ["Mimic"]

TAUGHT = ("shown", "full", "random")


@dataclass
class Mimic:
    """`lam` weighs necessity, `mu` the neutral judge. On images, selector and A also read the whole image through
    `context` dense features. For ablation: `taught` "full" teaches A the answer to the full row, as others do, "random"
    what the model says to random masks instead of the selector's own.
    """

    k: int
    lam: float = 1.0
    mu: float = 1.0
    tau: float = 0.5
    draw: Literal["k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"] = "soft-topk"
    context: int = 128
    taught: Literal["shown", "full", "random"] = "shown"
    removal: str | None = None
    feedback: bool = True
    recipe: Recipe = Recipe(epochs=40, batch=64, rate=1e-3, patience=8)
    device: str = "auto"
    method: ClassVar[str] = "mimic"
    cure: ClassVar[None] = None  # it needs none
    readers: ClassVar[dict[str, str]] = {"approximator_": "kept"}
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if not (self.lam >= 0 and self.mu >= 0):
            raise InputError(f"lam and mu must not be negative, got {self.lam} and {self.mu}")
        if self.taught not in TAUGHT or not self.context >= 0:
            raise InputError(
                f"taught must be one of {', '.join(TAUGHT)}, context not negative; got {self.taught!r}, {self.context}"
            )

    def build(self, task: Task) -> None:
        self.selector_, self.approximator_ = learned.networks(self, task, context=self.context, lively=True)

    def fit(self, model: Any, data: Dataset) -> Mimic:
        self._lesson = learned.lesson(self, model, data)
        self.build(self._lesson.task)
        self.judge_ = self._judge(self._lesson)
        readings = cures.train(self, self._lesson, self._worth)
        self.readings_ = {**readings, "hard-soft gap": self._gap(self._lesson)}
        del self._lesson, self.judge_
        return self

    def _judge(self, lesson: Lesson) -> Judge | None:
        """The neutral judge: another architecture and another seed than the audit's; the rows may be the same."""
        if not self.mu:
            return None
        seed = seeds.derive(self.recipe.seed, "neutral judge")
        reader, classes = lesson.task.reader, len(lesson.task.classes)
        size: Literal["small", "medium"] = "small" if reader.layout.is_text else "medium"
        net = nets.default(reader, classes, size, sees_mask=True, activation="selu", seed=seed)
        return pretrain(self, learned.placed(self, net), lesson, random_masks(self, sizes=True))

    def _worth(self, found: Mapping[str, float]) -> float:
        return found["fs-m"] - self.lam * found["fu-m"] + self.mu * found.get("judge", 0.0)

    def reading(self, batch: Batch, v: Tensor) -> Tensor:
        """A, shown the relaxed mask of a draw or (every other row, by chance) the hard one, should answer to it as the
        model answers to the hard one; the same for what both leave out.
        """
        if self.taught == "random":
            v = random_masks(self)(batch.valid, batch.rng)
        hard = subsets.topk(v, self.k, batch.valid)
        coin = torch.rand(len(v), 1, generator=batch.rng, device=batch.rng.device).to(v.device) < 0.5
        shown_to_a = torch.where(coin, hard.to(v), v)
        kept = soft_cross_entropy(self.approximator_(batch.x, shown_to_a), self._said(batch, hard))
        rest = self.approximator_(batch.x, batch.valid.to(v) - shown_to_a)
        return kept + soft_cross_entropy(rest, self._said(batch, batch.valid & ~hard))

    def _said(self, batch: Batch, kept: Tensor) -> Tensor:
        if self.taught == "full":
            return batch.p
        index, task = batch.index.cpu(), self._lesson.task  # type: ignore[union-attr]
        return shown(task.ready(), task.removal, rows_of(self._lesson.train.raw, index), kept.cpu()).to(batch.p)

    def choosing(self, batch: Batch, v: Tensor) -> Tensor:
        loss = soft_cross_entropy(self.approximator_(batch.x, v), batch.p)
        if self.lam:
            left = self.approximator_(batch.x, batch.valid.to(v) - v)
            loss = loss + self.lam * denying(left, batch.p)
        if self.judge_ is not None:
            loss = loss + self.mu * soft_cross_entropy(self.judge_.net(batch.x, v), batch.p)
        return loss

    def _gap(self, lesson: Lesson) -> float:
        """How differently A reads hard and relaxed masks of the same rows: mean total variation."""
        part, rng = lesson.held, seeds.generator(self.recipe.seed, next(self.selector_.parameters()).device)
        with torch.no_grad():
            x, p, valid = (t[:256].to(rng.device) for t in (part.x, part.p, part.valid))
            soft = learned.drawn(self, Batch(x, p, valid, rng))
            hard = subsets.topk(soft, self.k, valid).to(soft)
            a, b = (self.approximator_(x, mask).softmax(1) for mask in (soft, hard))
        return round(float((a - b).abs().sum(1).mean() / 2), 4)
