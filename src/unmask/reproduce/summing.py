"""Several measurements of one number as one: mean, interval, which way is better, where its values end."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from scipy import stats

from unmask.audit import CHECKS
from unmask.reproduce.tables import SHARES

__all__ = ["base", "better", "ends", "summary"]

HIGHER = ("accuracy", "precision", "recall", "f1", "iou-f1", "auprc", "overlap")
LOWER = ("locked", "constants")
DISTANCES = ("jsd", "tvd")  # how their names begin
NO_DISTANCE = "tvd-bce"  # which is published as one


def base(metric: str) -> str:
    """Of which metric this is the part of a class, or the value against other marks."""
    return metric.partition("@")[0].removesuffix("-original")


def better(metric: str) -> str:
    """`higher`, `lower`, or `none` where neither end is better."""
    if metric in CHECKS:
        return CHECKS[metric].better
    if metric in HIGHER:
        return "higher"
    distance = metric.startswith(DISTANCES) and metric != NO_DISTANCE
    return "lower" if metric in LOWER or distance else "none"


def ends(metric: str) -> tuple[float, float]:
    """Where its values end: shares of rows at 0 and 100 per cent, distances at 0."""
    if metric in SHARES:
        return 0.0, 100.0
    return (0.0 if metric.startswith(DISTANCES) else -math.inf), math.inf


def summary(
    found: Sequence[Sequence[float]], ends: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float | None, float | None, float | None]:
    """Mean with its interval, cut at the `ends`: over seeds by t where there are several, else that over test rows."""
    if not found:
        return None, None, None
    if len(found) == 1:
        value, low, high = found[0]
        return value, low, high
    means = [value for value, _, _ in found]
    mean = statistics.fmean(means)
    half = float(stats.t.ppf(0.975, len(means) - 1)) * statistics.stdev(means) / len(means) ** 0.5
    low, high = max(ends[0], mean - half), min(ends[1], mean + half)
    value, low, high = (float(f"{v:.6g}") for v in (mean, low, high))
    return value, low, high
