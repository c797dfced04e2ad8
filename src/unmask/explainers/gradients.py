"""The gradient, and gradient times input, by captum, on pixels, columns or word vectors, summed to units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from captum.attr import InputXGradient, LayerGradientXActivation, Saliency
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
                found: Tensor = Saliency(forward).attribute(prepared.requires_grad_(), target=goal, abs=False)
            else:
                method = LayerGradientXActivation(forward, layer, multiply_by_inputs=False)
                found = method.attribute(prepared, target=goal)
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
            method = InputXGradient(forward) if layer is None else LayerGradientXActivation(forward, layer)
            found: Tensor = method.attribute(prepared if layer else prepared.requires_grad_(), target=goal)
            return found

        scores = swept(self.task_, x, valid.shape[1], target, product)
        return scores.abs() if self.absolute else scores
