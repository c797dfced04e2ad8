"""Training under perturbed attention: "Attention Meets Perturbations", Kitada & Iyatomi 2021.

Attention logits are moved before the softmax, by a change r of length eps: `random` (Attention-RP), eps g / |g| with g
the gradient of the loss (Attention-AT), or only along the differences d_t = a - a_t between the logits of a row,
r_t = alpha_t . d_t / |d_t| with alpha = eps (g d) / |g d| (Attention-iAT). The loss is the clean one and the moved one.

As printed the last two are one, for a logit is a single number: r_t = eps g_t / |g| * sum_k d_tk^2 / |d_t|^2, and that
sum is 1. Both are here, and a test shows that they are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving
from unmask.attention import retraining
from unmask.attention.attacks import unit
from unmask.attention.lessons import Batch, Lesson
from unmask.errors import InputError
from unmask.nets.attention import masked_softmax
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["AttentionAT"]

LOW = 1e-12  # below this a weight has no logit to speak of


@dataclass
class AttentionAT:
    """`way` is random, gradient or differences; `eps` the length of the change of a row's attention logits."""

    k: int = 7
    eps: float = 1.0
    way: Literal["random", "gradient", "differences"] = "gradient"
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=3, batch=32, rate=5e-4)
    device: str = "auto"
    method: ClassVar[str] = "attention-at"
    aims: ClassVar[bool] = False
    clone = clone
    build, explain, save = retraining.build, retraining.explain, saving.save

    def __post_init__(self) -> None:
        if self.way not in ("random", "gradient", "differences"):
            raise InputError(f"way must be random, gradient or differences, got {self.way!r}")
        if not self.eps > 0:
            raise InputError(f"eps must be above 0, got {self.eps}")

    def fit(self, model: Any, data: Dataset) -> AttentionAT:
        found: AttentionAT = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """CE(y) + CE(y; moved attention)."""
        w, states = lesson.student.attend(batch.x)
        clean = soft_cross_entropy(lesson.student.answer(states, w), batch.y)
        logits = w.clamp(min=LOW).log()  # up to a constant of the row, which the softmax does not feel
        moved = masked_softmax(logits + self._change(lesson, batch, states, logits), batch.valid)
        return clean + soft_cross_entropy(lesson.student.answer(states, moved), batch.y)

    def _change(self, lesson: Lesson, batch: Batch, states: Any, logits: Tensor) -> Tensor:
        """(n, words) r, which is not learned through."""
        if self.way == "random":
            r = torch.randn(logits.shape, generator=batch.rng, device=batch.rng.device).to(logits)
            return self.eps * unit(r * batch.valid)
        r = torch.zeros_like(logits, requires_grad=True)
        still = states.detach() if isinstance(states, Tensor) else states
        said = lesson.student.answer(still, masked_softmax(logits.detach() + r, batch.valid))
        g = torch.autograd.grad(soft_cross_entropy(said, batch.y).sum(), r)[0] * batch.valid
        if self.way == "gradient":
            return self.eps * unit(g)
        both = batch.valid[:, :, None] & batch.valid[:, None]
        apart = (logits.detach()[:, None] - logits.detach()[:, :, None]) * both  # d[t, k] = a_k - a_t
        toward = apart / apart.norm(dim=2, keepdim=True).clamp(min=LOW)
        alpha = self.eps * unit(g[:, :, None] * toward)
        change: Tensor = (alpha * toward).sum(2)
        return change
