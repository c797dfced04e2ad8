"""Training a selector with its reader, with or without a cure for combinatorial shortcuts.

"Why is Attention Not So Attentive?", Bai et al. 2021: a reader trained beside the selector learns what the *mask* says.
`pretraining`: the reader learns from random masks first and is frozen, the selector is then trained through it.
`weighting`: rows weigh w = P(y) / P(y | mask), so that the mask alone says nothing; `weighting-shown`: the same given
what the values tell.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from unmask.explainers.learned import Batch, Lesson, drawn
from unmask.explainers.pretraining import pretrain, random_masks, whole
from unmask.explainers.watch import Watch
from unmask.explainers.weighting import Neutral
from unmask.training import Loss, minimize

__all__ = ["players", "train"]

Players = dict[str, tuple[nn.Module, Loss]]
MASKS = "mask classifier"
FASTER = 3  # times the rate of the others: it has to keep up with their masks


def train(
    explainer: Any, lesson: Lesson, worth: Callable[[Mapping[str, float]], float], *, together: bool = False
) -> dict[str, Any]:
    """Fit the explainer's networks; the epoch is the one whose readings on validation rows are `worth` most.

    Returns the readings of what was kept, for `origin`.

    The explainer brings `reading(batch, v)` and `choosing(batch, v)`, one loss for each row shown through the mask v,
    and `readers`, the names of its reading networks with the side each sees ("kept", "left" or "all"). `together`: both
    move with the loss of choosing, as in L2X; otherwise in turns. `batch.scores` are the scores that v was drawn by.
    """
    neutral = None
    if explainer.cure == "pretraining":
        for name, side in explainer.readers.items():
            masks = whole if side == "all" else random_masks(explainer, side == "left")
            pretrain(explainer, getattr(explainer, name), lesson, masks)
    elif explainer.cure is not None:
        neutral = Neutral.start(explainer, lesson)
    watch = Watch(explainer, lesson, worth, weigh=None if neutral is None else neutral.held_out)
    recipe = explainer.recipe
    game = players(explainer, neutral, recipe.steps(len(lesson.train.x)), together)
    if neutral is not None:
        rates = {name: recipe.rate_of(name) for name in game}
        recipe = replace(recipe, rate={**rates, MASKS: FASTER * rates[MASKS]})
    explainer.history_ = minimize(game, lesson.train.rows, recipe, score=watch, title=explainer.method)
    explainer.task_, explainer.curve_ = lesson.task, watch.curve
    found = watch.finish()
    explainer.seconds_ = time.perf_counter() - lesson.task.begun
    return found if neutral is None else {**found, "weights in training": neutral.health()}


def players(explainer: Any, neutral: Neutral | None, steps: int, together: bool) -> Players:
    """Who moves, in which order; `steps` make an epoch."""

    def turn(loss: Callable[[Batch, Tensor], Tensor], move: bool) -> Loss:
        taken = itertools.count()

        def mean(x: Tensor, p: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
            batch = Batch(x, p, valid, rng, index, next(taken) // steps)
            with torch.set_grad_enabled(move):
                batch = replace(batch, scores=explainer.selector_(x, None, p if explainer.feedback else None))
                v = drawn(explainer, batch)
            if neutral is None:
                return loss(batch, v).mean()
            own_turn = move and not together  # a random mask teaches readers; to the selector it is not its own choice
            if not own_turn:
                v = neutral.stirred(batch, v)
            w = neutral.weight(batch, v.detach(), note=not own_turn)
            return (w * loss(batch, v)).sum() / w.sum()

        return mean

    readers = nn.ModuleList([getattr(explainer, name) for name in explainer.readers])
    choose = turn(explainer.choosing, True)
    if explainer.cure == "pretraining":
        return {"selector": (explainer.selector_, choose)}
    if together:
        game: Players = {explainer.method: (nn.ModuleList([explainer.selector_, readers]), choose)}
    else:
        game = {"reader": (readers, turn(explainer.reading, False)), "selector": (explainer.selector_, choose)}
    return game if neutral is None else {MASKS: (neutral.net, neutral.loss), **game}
