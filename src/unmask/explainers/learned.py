"""What learned selectors share: the rows they learn from, their networks, their draws, and how they explain.

A learned selector is a dataclass with `k`, `tau`, `draw`, `feedback`, `cure`, `recipe` and `device` beside its own
settings. Fitted, it has `selector_`, a network that scores units, and `approximator_`, a maskable one that reads them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from unmask import devices, nets, seeds
from unmask.errors import InputError
from unmask.masking import subsets
from unmask.masking.relax import DRAWS
from unmask.task import Task, begin, explained
from unmask.training import evaluate
from unmask.types import Dataset, Explanation, Inputs

__all__ = [
    "CURES",
    "Batch",
    "Lesson",
    "Part",
    "check",
    "drawn",
    "explain",
    "lesson",
    "networks",
    "placed",
    "reader_net",
    "scored",
    "selected",
]

CURES = ("pretraining", "weighting", "weighting-shown")


@dataclass(frozen=True)
class Part:
    """Rows as given and as networks read them, with the model's answers and the units that exist."""

    raw: Inputs
    x: Tensor
    p: Tensor  # (n, classes)
    valid: Tensor  # (n, d)

    @property
    def rows(self) -> tuple[Tensor, ...]:
        """What a loss gets: prepared rows, answers, valid units, and the numbers of the rows."""
        return self.x, self.p, self.valid, torch.arange(len(self.x))


@dataclass(frozen=True)
class Batch:
    """Some training rows at one step; `index` are their numbers, none outside training; `scores` the selector's."""

    x: Tensor
    p: Tensor
    valid: Tensor
    rng: torch.Generator
    index: Tensor | None = None
    epoch: int = 0
    scores: Tensor | None = None


@dataclass(frozen=True)
class Lesson:
    """What a selector learns from, and what its epoch is chosen on."""

    task: Task
    train: Part
    held: Part


def lesson(explainer: Any, model: Any, data: Dataset) -> Lesson:
    """Check the request, then ask the model once about all rows of training and validation."""
    task = begin(model, data, explainer.k, explainer.removal)

    def part(raw: Inputs) -> Part:
        x = task.reader.prepare(raw)
        return Part(raw, x, task.ready()(raw), task.reader.valid(x))

    return Lesson(task, part(data.train.x), part(data.validation.x))


def check(explainer: Any) -> None:
    """Refuse settings that no learned selector has; not every one has all of them."""
    if getattr(explainer, "draw", "k-hot") not in DRAWS:
        raise InputError(f"draw must be one of {', '.join(DRAWS)}, got {explainer.draw!r}")
    if not 0 < getattr(explainer, "tau", 1.0) < math.inf:
        raise InputError(f"tau must be above 0 and finite, got {explainer.tau}")
    if getattr(explainer, "activation", "relu") not in nets.ACTIVATIONS:
        raise InputError(f"activation must be one of {', '.join(nets.ACTIVATIONS)}, got {explainer.activation!r}")
    if explainer.cure not in (None, *CURES):
        raise InputError(f"cure must be None or one of {', '.join(CURES)}, got {explainer.cure!r}")


def networks(explainer: Any, task: Task, context: int = 0, lively: bool = False) -> tuple[nn.Module, nn.Module]:
    """Selector and approximator of the default architecture, their weights drawn from the recipe's seed."""
    seed, fed = seeds.derive(explainer.recipe.seed, "selector"), explainer.feedback * len(task.classes)
    way: Any = getattr(explainer, "activation", "relu")
    selector = nets.selector(task.reader, activation=way, feedback=fed, context=context, lively=lively, seed=seed)
    return placed(explainer, selector), placed(explainer, reader_net(explainer, task, "approximator", context))


def reader_net(explainer: Any, task: Task, name: str, context: int = 0) -> nn.Module:
    """A maskable network of the default architecture, its weights drawn under its name."""
    seed, way = seeds.derive(explainer.recipe.seed, name), cast("Any", getattr(explainer, "activation", "relu"))
    return nets.default(task.reader, len(task.classes), activation=way, context=context, seed=seed)


def placed(explainer: Any, net: nn.Module) -> nn.Module:
    """The network on the explainer's device."""
    return net.to(devices.pick(explainer.device))


def drawn(explainer: Any, batch: Batch) -> Tensor:
    """(b, d) a differentiable draw of k units, by the explainer's scores; its own way where it has one (`drawing`)."""
    fed = batch.p if explainer.feedback else None
    scores = explainer.selector_(batch.x, None, fed) if batch.scores is None else batch.scores
    if hasattr(explainer, "drawing"):
        return explainer.drawing(batch, scores)  # type: ignore[no-any-return]
    return DRAWS[explainer.draw](scores, explainer.k, explainer.tau, batch.rng, batch.valid)


def scored(explainer: Any, x: Tensor, p: Tensor | None) -> Tensor:
    """(n, d) scores of prepared rows, in evaluation mode."""
    if not explainer.feedback:
        return evaluate(explainer.selector_, x)
    valid = explainer.selector_.reader.valid(x)
    return evaluate(explainer.selector_, x, valid.float(), p)  # type: ignore[arg-type]


def selected(explainer: Any, part: Part) -> Tensor:
    """(n, d) the k best units of each row."""
    return subsets.topk(scored(explainer, part.x, part.p), explainer.k, part.valid)


def explain(explainer: Any, x: Inputs, target: Tensor | None = None, answer: Tensor | None = None) -> Explanation:
    """One pass of the selector; with feedback, the model's answer (n, classes) is asked for first, or is given."""

    def score(x: Inputs, valid: Tensor, fed: Tensor) -> Tensor:
        return scored(explainer, explainer.task_.reader.prepare(x), fed if explainer.feedback else None)

    return explained(explainer, x, target, score, explainer.approximated, feedback=explainer.feedback, answer=answer)
