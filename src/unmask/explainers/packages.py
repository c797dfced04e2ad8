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
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.explainers.lime import answers, check_samples
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["Package"]

Says = Callable[[np.ndarray], np.ndarray]
"""`says(z) -> p`: (m, d) switches of units, (m,) the probability of the target."""


@dataclass
class Package:
    """Scores of `package`, with `samples` masks for each row; without them as many as it takes by itself.

    "shap" is `shap.KernelExplainer` from all units switched off to all switched on; by itself it takes 2 d + 2048 and
    sets all but the ten largest values to 0. Lundberg & Lee 2017.

    "lime" is `lime.lime_base` on masks drawn, weighed and counted (5000) as in LIME's explainer of texts; columns and
    pixels are switched like words. LIME's explainer of tables moves values instead: what that one returns can be
    audited as it is (`unmask.take`). Ribeiro et al. 2016.
    """

    k: int
    package: Literal["lime", "shap"] = "shap"
    samples: int | None = None
    seed: int = 0
    removal: str | None = None
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.package not in ATTRIBUTE:
            raise InputError(f"package must be lime or shap, got {self.package!r}")
        if self.samples is not None:
            check_samples(self.samples)

    @property
    def method(self) -> str:
        return f"{self.package}-package"

    def fit(self, model: Any, data: Dataset) -> Package:
        _theirs(self.package)  # refused now, not after hours
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        scores = torch.zeros(valid.shape)
        for i, d in enumerate(valid.sum(1).tolist()):
            row, goal = rows_of(x, torch.tensor([i])), target[i : i + 1]

            def says(z: np.ndarray, row: Inputs = row, goal: Tensor = goal) -> np.ndarray:
                return answers(self.task_, row, goal, torch.as_tensor(z) > 0.5)[0].numpy()

            seed = seeds.derive(self.seed, self.method, d) % 2**32  # of the length alone: the same in any company
            if d:
                found = ATTRIBUTE[self.package](says, d, self.samples, seed)
                scores[i, :d] = torch.as_tensor(found, dtype=torch.float32)
        return scores


def _shap(says: Says, d: int, samples: int | None, seed: int) -> np.ndarray:
    """(d,) Shapley values of one row."""
    with _drawing(seed):
        explainer = _theirs("shap").KernelExplainer(says, np.zeros((1, d)))
        found = explainer.shap_values(np.ones((1, d)), nsamples=samples or "auto", silent=True)
    return np.asarray(found, dtype=float).reshape(d)


def _lime(says: Says, d: int, samples: int | None, seed: int) -> np.ndarray:
    """(d,) coefficients of the line fitted to one row."""
    rng = np.random.RandomState(seed)
    z = np.ones((samples or 5000, d))
    for row, gone in zip(z[1:], rng.randint(1, d + 1, len(z) - 1), strict=True):
        row[rng.choice(d, gone, replace=False)] = 0
    apart = 100 * (1 - np.sqrt(z.mean(1)))  # cosine distance from the row with all units on
    base = _theirs("lime").LimeBase(lambda far: np.sqrt(np.exp(-((far / 25) ** 2))), random_state=rng)
    _, found, *_ = base.explain_instance_with_data(z, says(z)[:, None], apart, 0, d, feature_selection="none")
    scores = np.zeros(d)
    for unit, weight in found:
        scores[unit] = weight
    return scores


ATTRIBUTE = {"lime": _lime, "shap": _shap}


def _theirs(package: str) -> Any:
    try:
        with warnings.catch_warnings():  # of what they import themselves
            warnings.simplefilter("ignore")
            return import_module({"lime": "lime.lime_base", "shap": "shap"}[package])
    except ImportError as error:
        wanted = f"{package}-package needs the package {package}"
        raise InputError(f'{wanted}; run pip install "unmask[peers]"') from error


@contextmanager
def _drawing(seed: int) -> Iterator[None]:
    """NumPy's own generator, which SHAP draws from, seeded here and afterwards as it was."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
