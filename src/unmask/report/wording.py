"""How numbers, directions and verdicts are said, in the terminal and on the page alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.types import Findings, Result

__all__ = ["ARROWS", "DECIDING", "DIRECTIONS", "PEOPLE", "SYMBOLS", "find", "interval", "names_of", "number"]

# what a verdict rests on, as far as it was run
DECIDING = ("fs-m", "fu-m", "encoding-share", "reading", "randomized-model", "attention-flow")
PEOPLE = "people"  # among places: what they marked, or what is known to decide
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "none": "for information; neither end is better",
}
SYMBOLS = {"trust": "✓", "care": "!", "reject": "✕"}


def number(value: float | None) -> str:
    """Three decimals, fewer for large numbers, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.1e}".replace("e-0", "e-").replace("-", "−")
    digits = 3 if size < 10 else 1 if size < 1000 else 0
    return f"{value:.{digits}f}".replace("-", "−")


def interval(row: Result) -> str:
    """`[low, high]`, or nothing where the interval is not known."""
    known = math.isfinite(row.low) and math.isfinite(row.high)
    return f"[{number(row.low)}, {number(row.high)}]" if known else ""


def names_of(findings: Findings) -> list[str]:
    """Every explanation once: those with a verdict first, controls last."""
    judged = [v.explanation for v in findings.verdicts]
    seen = [row.explanation for row in findings.rows]
    others = [name for name in seen if name not in findings.controls]
    return list(dict.fromkeys([*judged, *others, *(c for c in findings.controls if c in seen)]))


def find(findings: Findings, explanation: str, check: str) -> Result | None:
    """The one number of a check that is no curve, where it was computed."""
    rows = (r for r in findings.rows if r.explanation == explanation and r.check == check and r.at is None)
    return next(rows, None)
