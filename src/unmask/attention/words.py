"""Adversarial training on word vectors: Word-AT and Word-iAT.

"Adversarial Training Methods for Semi-Supervised Text Classification", Miyato et al. 2017, and "Interpretable
Adversarial Perturbation in Input Embedding Space", Sato et al. 2018.

Word-AT moves the vectors of a row by eps g / |g|, g the gradient of the loss. Word-iAT moves each vector only toward
other words: r = sum_k alpha_k d_k, d_k the unit vectors to its neighbours, alpha = eps (d . g) / |d . g|. The loss is
that of the row as it is plus that of the row moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask import saving
from unmask.attention import retraining
from unmask.attention.attacks import unit
from unmask.attention.lessons import Batch, Lesson
from unmask.attention.moving import adversarial, length, moved, slope
from unmask.errors import InputError
from unmask.task import clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["WordAT"]

NEIGHBOURS = 8  # words that a vector may be moved toward


@dataclass
class WordAT:
    """`eps` is the length of a row's change; `toward_words` makes it Word-iAT, where it is that of alpha.

    Where word vectors are small, as those of a pretrained transformer, so is the change: `length`.
    """

    k: int = 7
    eps: float = 1.0
    toward_words: bool = False
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=3, batch=32, rate=5e-4)
    device: str = "auto"
    method: ClassVar[str] = "word-at"
    aims: ClassVar[bool] = False
    clone = clone
    build, explain, save = retraining.build, retraining.explain, saving.save

    def __post_init__(self) -> None:
        if not self.eps > 0:
            raise InputError(f"eps must be above 0, got {self.eps}")

    def fit(self, model: Any, data: Dataset) -> WordAT:
        self._near: Tensor | None = None
        found: WordAT = retraining.fit(self, model, data)
        return found

    def loss(self, lesson: Lesson, batch: Batch) -> Tensor:
        """CE(y) + CE(y; moved)."""
        clean = soft_cross_entropy(lesson.student.module(batch.x), batch.y)
        if not self.toward_words:
            return clean + adversarial(lesson, batch, batch.y, self.eps)
        return clean + soft_cross_entropy(moved(lesson, batch, self._toward(lesson, batch)), batch.y)

    def _toward(self, lesson: Lesson, batch: Batch) -> Tensor:
        """The change of Word-iAT, (n, words, e); of sub-words where the model reads such, (n, words, sub-words, e)."""
        table, g = lesson.embedding, slope(lesson, batch, batch.y)
        if not isinstance(table, nn.Embedding) or g.shape[:-1] != batch.x.shape:
            raise InputError("word-iat needs a model that reads ids (rows, words) through an nn.Embedding")
        if self._near is None:
            self._near = _neighbours(table.weight.detach())
        vectors = table.weight.detach()
        toward = nn.functional.normalize(vectors[self._near[batch.x]] - vectors[batch.x][..., None, :], dim=-1)
        alpha = length(lesson, self.eps) * unit((toward * g[..., None, :]).sum(-1))  # (n, words, neighbours)
        change: Tensor = (alpha[..., None] * toward).sum(-2)
        return change


def _neighbours(vectors: Tensor, batch: int = 1024) -> Tensor:
    """(words, NEIGHBOURS) the nearest other words by cosine; a zero vector, as that of the end, is no word."""
    unit = nn.functional.normalize(vectors, dim=1)
    found = []
    for start in range(0, len(unit), batch):
        cosine = unit[start : start + batch] @ unit.T
        cosine[torch.arange(len(cosine)), start + torch.arange(len(cosine))] = -2.0
        cosine[:, unit.norm(dim=1) == 0] = -2.0
        found.append(cosine.topk(min(NEIGHBOURS, len(unit) - 1), dim=1).indices)
    return torch.cat(found)
