"""The weights of a linear model as the global reference: what do the averages of local methods make of them?"""

from __future__ import annotations

import statistics

import torch
from scipy import stats
from torch import Tensor, nn

from unmask import seeds
from unmask.audit.statistics import Bootstrap
from unmask.distances import spearman
from unmask.importance import global_importance
from unmask.reproduce.claims.ground import Found, Ground

__all__ = ["GLOBAL", "linear_weights", "sizes"]

GLOBAL = {"permutation": "permutation", "ablation": "ablation", "mean-shapley": "mean |Shapley|"}
PARTS = 5  # of the rows, each a half of them, that global importance is computed on


def linear_weights(at: Ground, row: str) -> Found:
    """Averaged over rows, a method ranks the columns of a linear model as its weights do, by Spearman's correlation.

    Weights are those of columns in standard deviations. Local methods are averaged as |score|, their interval is over
    resampled rows; the global ones look at all rows at once, theirs is over five halves of the rows.
    """
    truth = at.once("sizes", lambda: sizes(at))
    if row in GLOBAL:
        return {"rank-correlation": _over_parts(at, GLOBAL[row], truth)}
    return {"rank-correlation": _resampled(at.explain(row).scores.abs(), truth, at.seed)}


def sizes(at: Ground) -> Tensor:
    """(d,) |weight| of each unit: between the two classes, for columns in standard deviations."""
    linear = [m for m in at.model.module.modules() if isinstance(m, nn.Linear)] if at.model.module else []
    if len(linear) != 1 or linear[0].out_features != 2:
        raise TypeError("this is no linear model of two classes")
    w = linear[0].weight.detach()
    return at.data.layout.gather((w[1] - w[0]).abs().view(1, *at.data.layout.shape))[0]


def _resampled(scores: Tensor, truth: Tensor, seed: int) -> tuple[float, float, float]:
    """Correlation of the mean of (n, d) scores with the truth (d,), and its interval over resampled rows."""
    counts = Bootstrap(len(scores), seed).counts.double()
    drawn = _ranked(counts @ scores.double(), truth)
    low, high = drawn.nanquantile(torch.tensor([0.025, 0.975], dtype=drawn.dtype)).tolist()
    return float(_ranked(scores.double().mean(0, keepdim=True), truth)), low, high


def _ranked(scores: Tensor, truth: Tensor) -> Tensor:
    return spearman(scores, truth.expand_as(scores), torch.ones_like(scores, dtype=torch.bool))


def _over_parts(at: Ground, name: str, truth: Tensor) -> tuple[float, float, float]:
    found = [_ranked(part, truth).item() for part in at.once("global", lambda: _importances(at))[name]]
    mean, spread = statistics.fmean(found), statistics.stdev(found)
    half = float(stats.t.ppf(0.975, PARTS - 1)) * spread / PARTS**0.5
    return mean, max(-1.0, mean - half), min(1.0, mean + half)


def _importances(at: Ground) -> dict[str, list[Tensor]]:
    """Each sort of global importance, (1, d) for each part of the rows."""
    half, drawn = max(2, len(at.data.test) // 2), range(PARTS)
    tables = [
        global_importance(at.model, at.data, n=half, removal=at.removal, seed=seeds.derive(at.seed, "part", i))
        for i in drawn
    ]
    return {name: [torch.tensor(table[name].to_numpy())[None] for table in tables] for name in GLOBAL.values()}
