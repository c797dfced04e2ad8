"""Global importance, for contrast with explanations of single rows: what the model uses over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unmask import seeds
from unmask.errors import InputError
from unmask.masking import default_removal
from unmask.masking.removals import make_removal
from unmask.methods import make
from unmask.models import Wrapped, bind, shown
from unmask.task import seeded
from unmask.types import Dataset

if TYPE_CHECKING:
    import pandas

__all__ = ["global_importance"]

REPEATS = 5  # permutations of each unit
ROWS, SAMPLES = 100, 512  # that Shapley values are computed for, at most, and from


def global_importance(
    model: Any, data: Dataset, *, split: str = "test", n: int = 500, removal: str | None = None, seed: int = 0
) -> pandas.DataFrame:
    """Units (rows) by how much the model needs them over all rows, three ways (columns), for tables and images.

    `permutation`: accuracy lost when a unit's values are shuffled among rows, a mean of 5 shuffles with its `spread`
    (scikit-learn; one-hot columns of a variable are shuffled together). `ablation`: accuracy lost when the unit is
    hidden in every row by `removal`. `mean |Shapley|`: mean over at most 100 rows of the size of its Shapley value
    for the predicted class. They differ where units tell the same: a shuffled copy is not missed.
    """
    import pandas

    if data.layout.is_text:
        raise InputError("words have no importance over all rows: each row has its own; give a table or images")
    wrapped = bind(model, data, removal)
    index = torch.randperm(len(data[split]), generator=seeds.generator(seeds.derive(seed, "importance")))[:n]
    x, y = data[split].x[index], data[split].y[index]
    name = removal or wrapped.removal or default_removal(data.kind)
    mean, spread = _permuted(wrapped, data, x, y, seed)
    return pandas.DataFrame(
        {
            "permutation": mean,
            "spread": spread,
            "ablation": _ablated(wrapped, data, x, y, name),
            "mean |Shapley|": _shapley(wrapped, data, x, name, seed),
        },
        index=list(data.units),
    )


@dataclass(frozen=True)
class _Shuffled:
    """What scikit-learn shuffles are numbers of rows, one column for each unit; the units' values come from there."""

    model: Wrapped
    data: Dataset
    x: Tensor

    def fit(self, x: Any, y: Any) -> _Shuffled:
        return self

    def right(self, numbers: Any, y: Any) -> float:
        """Accuracy on rows whose unit j is taken from row numbers[:, j]."""
        whole = self.data.layout.spread(torch.as_tensor(np.asarray(numbers))).expand(self.x.shape)
        mixed = self.x.gather(0, whole)
        return float((self.model(mixed).argmax(1).numpy() == y).mean())


def _permuted(model: Wrapped, data: Dataset, x: Tensor, y: Tensor, seed: int) -> tuple[Any, Any]:
    from sklearn.inspection import permutation_importance

    numbers = np.tile(np.arange(len(x))[:, None], (1, data.layout.d))
    found = permutation_importance(
        _Shuffled(model, data, x),
        numbers,
        y.numpy(),
        scoring=lambda shuffled, rows, labels: shuffled.right(rows, labels),
        n_repeats=REPEATS,
        random_state=seeds.derive(seed, "permutation") % 2**32,
    )
    return found.importances_mean, found.importances_std


def _ablated(model: Wrapped, data: Dataset, x: Tensor, y: Tensor, name: str) -> list[float]:
    """Accuracy lost when one unit is hidden in every row."""
    hide = make_removal(name, data)
    full = float((model(x).argmax(1) == y).float().mean())
    lost = []
    for unit in range(data.layout.d):
        kept = torch.ones(len(x), data.layout.d, dtype=torch.bool)
        kept[:, unit] = False
        lost.append(full - float((shown(model, hide, x, kept).argmax(1) == y).float().mean()))
    return lost


def _shapley(model: Wrapped, data: Dataset, x: Tensor, name: str, seed: int) -> list[float]:
    """Mean over rows of |Shapley value| of each unit, by kernel-shap."""
    explainer = seeded(make("kernel-shap", 1, name, {"samples": SAMPLES}), seed).fit(model, data)
    found: list[float] = explainer.explain(x[:ROWS]).scores.abs().mean(0).tolist()
    return found
