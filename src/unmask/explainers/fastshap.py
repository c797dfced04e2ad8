"""FastSHAP: "Real-Time Shapley Value Estimation", Jethani, Sudarshan, Covert, Lee & Ranganath 2022.

One network gives the Shapley values of all classes at once. With v(S) the answer when only S is shown, it minimises

    E_S d (v(S) - v(none) - sum_{i in S} phi_i)^2          S by the Shapley kernel, each with its complement

where phi_i += (v(all) - v(none) - sum_j phi_j) / d makes the values add up (additive efficient normalisation). v is a
surrogate, a maskable network that learned the model's answer to the whole row from masked rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from unmask import nets, saving, seeds
from unmask.errors import InputError
from unmask.explainers import learned
from unmask.explainers.learned import Part
from unmask.explainers.shapley import Value, any_part, efficient, ends, many, misfit, pairs
from unmask.judge import Rows, train_judge
from unmask.models import shown
from unmask.task import Task, clone, explained
from unmask.training import Loss, Recipe, evaluate, minimize
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["FastSHAP"]

SURROGATE = Recipe(epochs=60, batch=128, rate=1e-3, patience=5)
HELD = 1000  # validation rows the epoch is chosen on


@dataclass
class FastSHAP:
    """`samples` subsets of each row at each step, half of them complements; `efficiency`: values add up, always.

    `surrogate` "model": v is the model itself under the removal, asked `samples` times for each row in each epoch.
    Scores are phi of the target class, signed, in units of probability. The reading "unexplained" is the loss on
    validation rows over that of values that are all alike; what does not add up stays. Published: Adam 2e-4, the rate
    halved where the loss stays; on a few thousand rows that rate is far from done after a hundred epochs.
    """

    k: int
    surrogate: Literal["network", "model"] = "network"
    samples: int = 8
    efficiency: bool = True
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=100, batch=64, rate=1e-3, patience=10, fade=0.97)
    device: str = "auto"
    method: ClassVar[str] = "fastshap"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.surrogate not in ("network", "model"):
            raise InputError(f"surrogate must be network or model, got {self.surrogate!r}")
        if isinstance(self.samples, bool) or not isinstance(self.samples, int) or self.samples < 2 or self.samples % 2:
            raise InputError(f"samples must be an even number of at least 2, got {self.samples!r}")

    def build(self, task: Task) -> None:
        seed, classes = seeds.derive(self.recipe.seed, "phi"), len(task.classes)
        self.phi_ = learned.placed(self, nets.selector(task.reader, outputs=classes, seed=seed))
        if self.surrogate == "network":
            self.surrogate_ = learned.placed(self, learned.reader_net(self, task, "surrogate"))

    def fit(self, model: Any, data: Dataset) -> FastSHAP:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        if self.surrogate == "network":
            taught, held = (Rows(part.x, part.p, part.valid) for part in (lesson.train, lesson.held))
            how = replace(SURROGATE, seed=self.recipe.seed, precision=self.recipe.precision)
            train_judge(self.surrogate_, taught, held, any_part, how)
        part, loss_on = lesson.train, self._loss_on(lesson.task, lesson.held)
        v = self._value(lesson.task, part.raw, part.x)
        rows = (part.x, *ends(v, part.valid), part.valid, torch.arange(len(part.x)))
        game = {"phi": (self.phi_, self._loss(v))}
        self.history_ = minimize(game, rows, self.recipe, score=lambda: -loss_on(self.phi_), title=self.method)
        self.readings_ = {"unexplained": round(loss_on(self.phi_) / max(loss_on(None), 1e-12), 4)}
        self.task_ = lesson.task
        return self

    def _value(self, task: Task, raw: Inputs, x: Tensor) -> Value:
        def v(index: Tensor, kept: Tensor) -> Tensor:
            if self.surrogate == "model":
                return shown(task.ready(), task.removal, rows_of(raw, index), kept)
            return evaluate(self.surrogate_, x[index], kept.float()).softmax(1)

        return v

    def _loss(self, v: Value) -> Loss:
        def loss(x: Tensor, none: Tensor, full: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
            s = pairs(valid, self.samples, rng)  # (samples, b, d)
            gain = many(v, index, s).to(none) - none
            return misfit(self._phi(self.phi_(x), full - none, valid), s, gain, valid).mean()

        return loss

    def _loss_on(self, task: Task, part: Part) -> Callable[[nn.Module | None], float]:
        """The loss of a network on validation rows under subsets drawn once; without one, of values all alike."""
        rng = seeds.generator(seeds.derive(self.recipe.seed, "fastshap validation"))
        index = torch.randperm(len(part.x), generator=rng)[:HELD].sort().values
        v, x, valid = self._value(task, part.raw, part.x), part.x[index], part.valid[index]
        s = pairs(valid, self.samples, rng)
        none, full = (v(index, kept) for kept in (torch.zeros_like(valid), valid))
        gain = many(v, index, s) - none

        def loss(net: nn.Module | None) -> float:
            if net is None:
                phi = efficient(torch.zeros(*valid.shape, gain.shape[-1]), full - none, valid)
            else:
                phi = self._phi(evaluate(net, x), full - none, valid)
            return float(misfit(phi, s, gain, valid).mean())

        return loss

    def _phi(self, raw: Tensor, gain: Tensor, valid: Tensor) -> Tensor:
        return efficient(raw, gain, valid) if self.efficiency else raw * valid[..., None]

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        prepared = self.task_.reader.prepare(x)
        gain = torch.empty(0)  # asked for only where values have to add up to it
        if self.efficiency:
            none, full = ends(self._value(self.task_, x, prepared), valid)
            gain = full - none
        phi = self._phi(evaluate(self.phi_, prepared), gain, valid)
        return phi[torch.arange(len(phi)), :, target]
