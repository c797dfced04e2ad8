"""Methods disagree with one another about the same model: six measures for each pair. Krishna et al. 2022."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from unmask.audit.agreement import Order, common, order, pairs_alike, relations
from unmask.distances import spearman
from unmask.reproduce.claims.ground import Found, Ground

__all__ = ["METHODS", "PAIRS", "disagreement"]

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "lime": ("lime", {}),
    "kernel-shap": ("kernel-shap", {}),
    "gradient": ("smoothgrad", {"draws": 1, "noise": 0.0}),  # with its sign, which the library's own leaves away
    "gradient-x-input": ("gradient-x-input", {}),
    "integrated-gradients": ("integrated-gradients", {}),
    "smoothgrad": ("smoothgrad", {}),
}
"""The six methods of the paper."""
PAIRS = tuple(f"{a} and {b}" for a, b in combinations(METHODS, 2))


def disagreement(at: Ground, row: str) -> Found:
    """Two methods disagree: the most important units, their order and their signs differ, by |score| as published."""
    a, b = (_order(at, name) for name in row.split(" and "))
    return {
        "feature-agreement": 100 * common(a, b),
        "rank-agreement": 100 * common(a, b, rank=True),
        "sign-agreement": 100 * common(a, b, sign=True),
        "signed-rank-agreement": 100 * common(a, b, rank=True, sign=True),
        "rank-correlation": spearman(a.importance, b.importance, a.valid),
        "pairwise-rank-agreement": 100 * pairs_alike(relations(a, at.seed), relations(b, at.seed)),
    }


def _order(at: Ground, name: str) -> Order:
    e = at.explain(*METHODS[name])
    return order(e.scores, at.k, e.valid, by_size=True)
