"""The gradient, and gradient times input, on pixels and columns, and by captum on word vectors, summed to units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from captum.attr import LayerGradientXActivation
from torch import Tensor, nn

from unmask import saving
from unmask.explainers.attribution import layer_of, swept
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Gradient", "GradientXInput"]


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
        layer_of(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        forward = self.task_.ready().log_probabilities

        def slope(prepared: Tensor, goal: Tensor, layer: nn.Module | None) -> Tensor:
            if layer is None:
                return _slope(forward, prepared, goal).abs()
            method = LayerGradientXActivation(forward, layer, multiply_by_inputs=False)
            found: Tensor = method.attribute(prepared, target=goal)
            return found.abs()

        return swept(self.task_, x, valid.shape[1], target, slope)


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
        layer_of(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        forward = self.task_.ready().log_probabilities

        def product(prepared: Tensor, goal: Tensor, layer: nn.Module | None) -> Tensor:
            if layer is None:
                return prepared * _slope(forward, prepared, goal)
            found: Tensor = LayerGradientXActivation(forward, layer).attribute(prepared, target=goal)
            return found

        scores = swept(self.task_, x, valid.shape[1], target, product)
        return scores.abs() if self.absolute else scores


def _slope(forward: Callable[[Tensor], Tensor], x: Tensor, goal: Tensor) -> Tensor:
    """d log p(target) / d x of all rows by one sum; captum takes a sum for each row, which small models wait for."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(forward(x).gather(1, goal[:, None]).sum(), x)[0]
