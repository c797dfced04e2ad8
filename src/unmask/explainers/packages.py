"""SHAP and LIME as their own packages compute them (extra `peers`), one row after the other.

For those who want just what others have reported: `kernel-shap` and `lime` are the same ideas for all rows at once.
Both packages see a row as switches of its units; what a switched-off unit is replaced by is the removal's business.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.explainers.lime import answers, check_samples
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["LimePackage", "ShapPackage"]

Says = Callable[[np.ndarray], np.ndarray]
"""`says(z) -> p`: (m, d) switches of units, (m,) the probability of the target."""


@dataclass
class _Package:
    """What both share; `attribute(says, d)` gives (d,) scores of one row."""

    k: int
    samples: int | None = None  # None: as many as the package takes by itself
    seed: int = 0
    removal: str | None = None
    method: ClassVar[str]
    package: ClassVar[str]
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.samples is not None:
            check_samples(self.samples)

    def fit(self, model: Any, data: Dataset) -> Any:
        self._theirs()  # refused now, not after hours
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        scores = torch.zeros(valid.shape)
        for i, length in enumerate(valid.sum(1).tolist()):
            row, goal = rows_of(x, torch.tensor([i])), target[i : i + 1]

            def says(z: np.ndarray, row: Inputs = row, goal: Tensor = goal) -> np.ndarray:
                return answers(self.task_, row, goal, torch.as_tensor(z) > 0.5)[0].numpy()

            if length:
                scores[i, :length] = torch.as_tensor(self.attribute(says, length), dtype=torch.float32)
        return scores

    def attribute(self, says: Says, d: int) -> np.ndarray:
        raise NotImplementedError

    def _theirs(self) -> Any:
        try:
            with warnings.catch_warnings():  # of what they import themselves
                warnings.simplefilter("ignore")
                return import_module(self.package)
        except ImportError as error:
            name = self.package.partition(".")[0]
            raise InputError(f'{self.method} needs the package {name}; run pip install "unmask[peers]"') from error

    def _seed(self, d: int) -> int:
        """Of the row's length alone: a row is explained the same in any company."""
        return seeds.derive(self.seed, self.method, d) % 2**32


class ShapPackage(_Package):
    """`shap.KernelExplainer`, from all units switched off to all switched on, with what it takes by itself.

    Without `samples` these are 2 d + 2048, and of the values all but the ten largest are set to 0.
    Lundberg & Lee 2017.
    """

    method: ClassVar[str] = "shap-package"
    package: ClassVar[str] = "shap"

    def attribute(self, says: Says, d: int) -> np.ndarray:
        with _drawing(self._seed(d)):
            explainer = self._theirs().KernelExplainer(says, np.zeros((1, d)))
            found = explainer.shap_values(np.ones((1, d)), nsamples=self.samples or "auto", silent=True)
        return np.asarray(found, dtype=float).reshape(d)


class LimePackage(_Package):
    """`lime.lime_base` on masks drawn, weighed and counted as LIME's text explainer does it; 5000 without `samples`.

    Columns and pixels are switched like words. LIME's explainer of tables moves values instead: what that one returns
    can be audited as it is (`unmask.take`). Ribeiro et al. 2016.
    """

    method: ClassVar[str] = "lime-package"
    package: ClassVar[str] = "lime.lime_base"

    def attribute(self, says: Says, d: int) -> np.ndarray:
        rng = np.random.RandomState(self._seed(d))
        z = np.ones((self.samples or 5000, d))
        for row, gone in zip(z[1:], rng.randint(1, d + 1, len(z) - 1), strict=True):
            row[rng.choice(d, gone, replace=False)] = 0
        apart = 100 * (1 - np.sqrt(z.mean(1)))  # cosine distance from the row with all units on
        base = self._theirs().LimeBase(lambda far: np.sqrt(np.exp(-((far / 25) ** 2))), random_state=rng)
        labels = says(z)[:, None]
        _, found, *_ = base.explain_instance_with_data(z, labels, apart, 0, d, feature_selection="none")
        scores = np.zeros(d)
        for unit, weight in found:
            scores[unit] = weight
        return scores


@contextmanager
def _drawing(seed: int) -> Iterator[None]:
    """NumPy's own generator, which SHAP draws from, seeded here and afterwards as it was."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
