"""Gradient methods, by captum, on pixels, columns or word vectors, summed to units.

What is explained is the log-probability of the target class. For words the gradient is taken at the word vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from captum.attr import (
    InputXGradient,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    Saliency,
)
from captum.attr import (
    IntegratedGradients as CaptumIG,
)
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.explainers import saving
from unmask.explainers.task import Task, begin, clone, explained
from unmask.masking.removals import PAD, Cut
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Gradient", "GradientXInput", "IntegratedGradients"]

ROWS = 2048  # rows (or steps of a path) in one backward pass


def _layer(task: Task) -> nn.Module | None:
    """The embedding whose vectors stand for words; None where the input itself is differentiable."""
    module = task.ready().module
    if module is None:
        raise InputError(
            f"{task.ready().name} gives no gradients: use a method that only calls the model, such as occlusion"
        )
    if not task.reader.layout.is_text:
        return None
    found = next((m for m in module.modules() if isinstance(m, nn.Embedding)), None)
    if found is None:
        raise InputError(f"{type(module).__name__} has no nn.Embedding to take gradients at; use occlusion")
    return found


def _batches(task: Task, x: Inputs, target: Tensor, size: int) -> Iterator[tuple[Inputs, Tensor, Tensor]]:
    """(rows, prepared rows, target), `size` at a time."""
    feed = task.ready().feed
    for start in range(0, len(x), size):
        rows = x[start : start + size]
        prepared = feed(rows)
        yield rows, prepared, target[start : start + size].to(prepared.device)


def _units(task: Task, attribution: Tensor, prepared: Tensor, d: int) -> Tensor:
    """Attributions of vectors, pixels or columns of the prepared rows, summed to (n, d) over units."""
    if not task.reader.layout.is_text:
        return task.reader.layout.gather(attribution)
    flat = attribution.sum(-1).reshape(*prepared.shape[:2], -1).sum(-1)  # words of a sentence belong together
    return nn.functional.pad(flat, (0, d - flat.shape[1]))


@dataclass
class Gradient:
    """Sum over a unit of |d log p(target) / d input|: how much the answer moves, without a sign."""

    k: int
    removal: str | None = None
    method: ClassVar[str] = "gradient"
    clone = clone
    save = saving.save

    def fit(self, model: Any, data: Dataset) -> Gradient:
        self.task_ = begin(model, data, self.k, self.removal)
        _layer(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        task, forward = self.task_, self.task_.ready().log_probabilities
        layer, parts = _layer(task), []
        for _, prepared, goal in _batches(task, x, target, ROWS):
            if layer is None:
                found = Saliency(forward).attribute(prepared.requires_grad_(), target=goal, abs=True)
            else:
                found = (
                    LayerGradientXActivation(forward, layer, multiply_by_inputs=False)
                    .attribute(prepared, target=goal)
                    .abs()
                )
            parts.append(_units(task, found, prepared, valid.shape[1]))
        return torch.cat(parts)


@dataclass
class GradientXInput:
    """Sum over a unit of input times gradient; `absolute` takes its size, as the published tables do."""

    k: int
    absolute: bool = False
    removal: str | None = None
    clone = clone
    save = saving.save

    @property
    def method(self) -> str:
        return "gradient-x-input-abs" if self.absolute else "gradient-x-input"

    def fit(self, model: Any, data: Dataset) -> GradientXInput:
        self.task_ = begin(model, data, self.k, self.removal)
        _layer(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        task, forward = self.task_, self.task_.ready().log_probabilities
        layer, parts = _layer(task), []
        for _, prepared, goal in _batches(task, x, target, ROWS):
            if layer is None:
                found = InputXGradient(forward).attribute(prepared.requires_grad_(), target=goal)
            else:
                found = LayerGradientXActivation(forward, layer).attribute(prepared, target=goal)
            parts.append(_units(task, found.nan_to_num(), prepared, valid.shape[1]))
        scores = torch.cat(parts)
        return scores.abs() if self.absolute else scores


@dataclass
class IntegratedGradients:
    """IG_i = (x_i - b_i) * mean over the path of d log p(target) / dx_i, the baseline b being what is removed.

    The mean completeness gap |sum IG - (F(x) - F(b))| of the last call stands in `origin`.
    """

    k: int
    steps: int = 32
    removal: str | None = None
    readings_: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "integrated-gradients"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps!r}")

    def fit(self, model: Any, data: Dataset) -> IntegratedGradients:
        self.task_ = begin(model, data, self.k, self.removal)
        _layer(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        task, parts, gaps = self.task_, [], []
        for rows, prepared, goal in _batches(task, x, target, max(1, ROWS // self.steps)):
            baselines = list(_baselines(task, rows))
            found, gap = zip(*(self._path(prepared, base, goal) for base in baselines), strict=True)
            parts.append(_units(task, torch.stack(found).mean(0), prepared, valid.shape[1]))
            gaps.append(torch.stack(gap).mean(0))
        self.readings_ = {"completeness_gap": float(torch.cat(gaps).abs().mean())}
        return torch.cat(parts)

    def _path(self, prepared: Tensor, base: Tensor, goal: Tensor) -> tuple[Tensor, Tensor]:
        forward, layer = self.task_.ready().log_probabilities, _layer(self.task_)
        method = CaptumIG(forward) if layer is None else LayerIntegratedGradients(forward, layer)
        found = method.attribute(prepared, base, target=goal, n_steps=self.steps).detach().nan_to_num()
        with torch.no_grad():
            gain = (forward(prepared) - forward(base)).gather(1, goal[:, None])[:, 0]
        return found, found.reshape(len(prepared), -1).sum(1) - gain


def _baselines(task: Task, rows: Inputs) -> Iterator[Tensor]:
    """The rows with everything removed, prepared; texts keep their length, so deleting becomes padding here."""
    removal = task.removal
    if isinstance(removal, Cut) and removal.token is None:
        removal = Cut("pad", PAD)
    nothing = torch.zeros_like(task.reader.layout.valid(rows))
    for version in removal.versions(rows, nothing):
        yield task.ready().feed(version)
