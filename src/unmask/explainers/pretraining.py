"""Random-mask pretraining: what the reader learns from masks that know nothing cannot be a code.

"Why is Attention Not So Attentive?", Bai et al. 2021, section 4.2.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unmask.explainers.learned import Lesson
from unmask.judge import Draw, Judge, Rows, mixed_sizes, train_judge
from unmask.masking import subsets
from unmask.masking.relax import DRAWS

__all__ = ["pretrain", "random_masks", "whole"]

SHARP = 10.0  # random scores are up to this wide: the scores of a trained selector are far apart


def random_masks(explainer: Any, left: bool = False, sizes: bool = False) -> Draw:
    """Masks that know nothing: half hard k-subsets, half random scores through the explainer's own relaxed draw.

    `left` turns to what such masks leave out; with `sizes`, every other hard subset has any size. An explainer without
    `draw` decides unit by unit: its masks are hard and of any size, so half of these are too.
    """
    own = hasattr(explainer, "draw")
    hard = mixed_sizes(explainer.k) if sizes or not own else lambda valid, rng: subsets.uniform(valid, explainer.k, rng)

    def draw(valid: Tensor, rng: torch.Generator) -> Tensor:
        if not own:
            mask = hard(valid, rng)
            return (valid & ~mask if left else mask).float()
        scale = 1 + (SHARP - 1) * torch.rand(len(valid), 1, generator=rng, device=rng.device)
        scores = (scale * torch.randn(valid.shape, generator=rng, device=rng.device)).to(valid.device)
        soft = DRAWS[explainer.draw](scores, explainer.k, explainer.tau, rng, valid)
        half = torch.rand(len(valid), 1, generator=rng, device=rng.device).to(valid.device) < 0.5
        mask = torch.where(half, hard(valid, rng).to(soft), soft)
        return valid.to(mask) - mask if left else mask

    return draw


def whole(valid: Tensor, rng: torch.Generator) -> Tensor:
    """Everything is shown."""
    return valid


def pretrain(explainer: Any, net: nn.Module, lesson: Lesson, masks: Draw) -> Judge:
    """Stage one of random-mask pretraining: the judge's training, with these masks alone and the explainer's recipe."""
    rows, held = (Rows(part.x, part.p, part.valid) for part in (lesson.train, lesson.held))
    return train_judge(net, rows, held, masks, explainer.recipe, parts_of_texts=False)
