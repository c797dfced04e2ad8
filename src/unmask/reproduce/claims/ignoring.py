"""Saliency can be independent of the model: the map stays when all weights are drawn anew. Adebayo et al. 2018."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from captum.attr import GuidedBackprop
from torch import Tensor, nn

from unmask import seeds
from unmask.audit.fresh import anew
from unmask.audit.redteam import REFERENCES, Suspect
from unmask.audit.stability import shared
from unmask.distances import spearman
from unmask.errors import InputError
from unmask.explainers.attribution import swept
from unmask.models import Wrapped
from unmask.reproduce.claims.ground import Found, Ground
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explainer, Explanation, Inputs

__all__ = ["REFITS", "Guided", "explainer_of", "model_ignored"]

REFITS = 3  # networks with random weights


def model_ignored(at: Ground, row: str) -> Found:
    """A map ignores the model if it stays when all weights are drawn anew: a mean over three such models.

    `survives` is 0 for as much as random masks share, 100 for the very same mask; `correlation` that of |scores|.
    """
    own = at.ask(explainer_of(at, row))
    others = [at.ask(explainer_of(at, row), model) for model in at.once("randomized", lambda: _randomized(at))]
    stayed = torch.stack([shared(own.kept, other.kept) for other in others]).mean(0)
    chance = own.kept.sum(1) / own.valid.sum(1)
    ranked = torch.stack([spearman(own.scores.abs(), other.scores.abs(), own.valid) for other in others])
    return {
        "overlap": 100 * stayed,
        "survives": 100 * (stayed - chance) / (1 - chance),
        "correlation": ranked.nanmean(0),
    }


def explainer_of(at: Ground, row: str) -> Explainer:
    """The method of a row: one of the library's, guided backpropagation, or a selection that never asks the model."""
    if row == "guided-backprop":
        return Guided(at.k, at.removal)
    return Suspect(at.k, row, at.seed) if row in REFERENCES else at.make(row)


def _randomized(at: Ground) -> list[Wrapped]:
    found = [anew(at.model, seeds.derive(at.seed, "randomized", i)) for i in range(REFITS)]
    return [model for model in found if model is not None]


@dataclass
class Guided:
    """|Guided backpropagation| of the class's raw output, by captum: negative slopes stop at every ReLU module.

    No method of this library: it is known to break what it is measured for here. Springenberg et al. 2015.
    """

    k: int
    removal: str | None = None
    method: ClassVar[str] = "guided-backprop"
    clone = clone

    def fit(self, model: Any, data: Dataset) -> Guided:
        self.task_ = begin(model, data, self.k, self.removal)
        module = self.task_.ready().module
        if module is None or not any(isinstance(m, nn.ReLU) for m in module.modules()):
            raise InputError(f"{self.task_.ready().name} has no nn.ReLU to guide slopes at")
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        guided = GuidedBackprop(self.task_.ready().module)

        def slope(prepared: Tensor, goal: Tensor, layer: nn.Module | None) -> Tensor:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # captum says that it sets hooks
                found: Tensor = guided.attribute(prepared.requires_grad_(), target=goal)
            return found.abs()

        return swept(self.task_, x, valid.shape[1], target, slope)
