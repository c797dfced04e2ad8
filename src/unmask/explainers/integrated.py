"""Integrated gradients: "Axiomatic Attribution for Deep Networks", Sundararajan et al. 2017; the paths by captum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from captum.attr import IntegratedGradients as CaptumIG
from captum.attr import LayerIntegratedGradients
from torch import Tensor

from unmask import saving
from unmask.batches import out_of_memory
from unmask.errors import InputError
from unmask.explainers import attribution
from unmask.explainers.attribution import baselines, in_batches, layer_of, to_units
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["IntegratedGradients"]


@dataclass
class IntegratedGradients:
    """IG_i = (x_i - b_i) * mean over the path of d log p(target) / dx_i, the baseline b being what is removed.

    The mean completeness gap |sum IG - (F(x) - F(b))| of the last call stands in `origin`.
    """

    k: int
    steps: int = 32
    removal: str | None = None
    readings_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "integrated-gradients"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps!r}")

    def fit(self, model: Any, data: Dataset) -> IntegratedGradients:
        self.task_ = begin(model, data, self.k, self.removal)
        layer_of(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        task = self.task_

        def mean(rows: Inputs, prepared: Tensor, goal: Tensor) -> tuple[Tensor, Tensor]:
            found, gap = zip(*(self._path(prepared, base, goal) for base in baselines(task, rows)), strict=True)
            scores = to_units(task, torch.stack(found).mean(0), prepared, valid.shape[1])
            return scores, torch.stack(gap).abs().mean(0)

        parts, gaps = zip(*in_batches(task, x, target, max(1, attribution.ROWS // self.steps), mean), strict=True)
        self.readings_ = {**self.readings_, "completeness_gap": float(torch.cat(gaps).mean())}
        return torch.cat(parts)

    def _path(self, prepared: Tensor, base: Tensor, goal: Tensor) -> tuple[Tensor, Tensor]:
        forward, layer = self.task_.ready().log_probabilities, layer_of(self.task_)
        method = CaptumIG(forward) if layer is None else LayerIntegratedGradients(forward, layer)
        found = self._walked(method, prepared, base, goal).detach().nan_to_num()
        with torch.no_grad():
            gain = (forward(prepared) - forward(base)).gather(1, goal[:, None])[:, 0]
        return found, found.reshape(len(prepared), -1).sum(1) - gain

    def _walked(self, method: Any, prepared: Tensor, base: Tensor, goal: Tensor) -> Tensor:
        """All steps at once; of a single row for which memory does not suffice, some at a time."""
        given: dict[str, Any] = {"target": goal, "n_steps": self.steps}
        at_once, parts = self.steps, prepared.shape[1] if prepared.ndim == 3 else 1  # sentences are read apart
        while True:
            try:
                return method.attribute(prepared, base, **given)  # type: ignore[no-any-return]
            except Exception as error:
                if len(prepared) > 1 or at_once == 1 or not out_of_memory(error):
                    raise
            at_once //= 2
            given["internal_batch_size"] = at_once * parts
