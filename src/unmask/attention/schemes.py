"""Ways of training an attention model on its labels: plainly, or so that where it looks cannot be a code.

"Why is Attention Not So Attentive?", Bai et al. 2021: trained together, attention and what reads through it agree on
weights that *tell* the answer (combinatorial shortcuts). The two cures are random pretraining, here, and mask-neutral
weighting, in `neutral`. The model given stays as it is: a copy starts from its weights and becomes `model_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask.attention.pupils import Pupil, dirichlet, looking, pupil
from unmask.task import clone
from unmask.training import History, Loss, Recipe, minimize
from unmask.types import Dataset

__all__ = ["USUAL", "Plain", "RandomPretraining"]

USUAL = Recipe(epochs=10, batch=32, rate=1e-3)


@dataclass
class Plain:
    """Attention and the rest learn together. With `select` the epoch is the best on validation rows, else the last."""

    select: bool = True
    recipe: Recipe = USUAL
    method: ClassVar[str] = "plain"
    clone = clone

    def fit(self, model: Any, data: Dataset) -> Plain:
        own = pupil(model, data)
        self.history_ = _trained(self, own, own.model.module, own.usual, "training attention")
        own.finish(self, {})
        return self


@dataclass
class RandomPretraining:
    """First all but the attention learns, under random weights; then the attention alone, through what is frozen.

    What was learned from weights that know nothing cannot be a code. Random weights are Dirichlet(1) over the positions
    that a row has. Each stage has the recipe's epochs and a fresh optimizer.
    """

    select: bool = True
    recipe: Recipe = USUAL
    method: ClassVar[str] = "random-pretraining"
    clone = clone

    def fit(self, model: Any, data: Dataset) -> RandomPretraining:
        own = pupil(model, data)
        attention = looking(own)

        def blind(x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
            return own.loss(own.model.attend(x)[1], dirichlet(valid, rng), y).mean()

        first = _trained(self, own, own.model.module, blind, "training under random attention")
        with torch.backends.cudnn.flags(enabled=False):  # which takes no slopes through what is not training
            self.history_ = _trained(self, own, attention, own.usual, "training the attention alone")
        own.finish(self, {"first stage": first.losses[first.best]})
        return self


def _trained(scheme: Any, own: Pupil, player: nn.Module, loss: Loss, title: str) -> History:
    score = (lambda: own.held_out(loss, scheme.recipe.seed)) if scheme.select else None
    return minimize({scheme.method: (player, loss)}, own.train.all, scheme.recipe, score=score, title=title)
