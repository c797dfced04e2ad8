"""How numbers, directions and verdicts are said, in the terminal and on the page alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.types import Findings, Result, Verdict

__all__ = [
    "ARROWS",
    "DECIDING",
    "DIRECTIONS",
    "ESTIMATED",
    "FURTHER",
    "PEOPLE",
    "SYMBOLS",
    "along",
    "find",
    "interval",
    "names_of",
    "number",
    "said",
    "summary",
]

# what a verdict rests on, as far as it was run, and what its number is in everyday words
DECIDING = {
    "fs-m": "answer from it alone",
    "fu-m": "answer without it",
    "encoding-share": "told by the choice",
    "reading": "read from the values",
    "randomized-model": "left, random model",
    "attention-flow": "done by hidden words",
}
FURTHER = {  # what a verdict rests on too, where it speaks against an explanation
    "half-share": "told by choice, one half",
    "cascading-randomization": "left, layers random",
    "seed-stability": "stays with other seeds",
    "topk-overlap": "stays nearby",
    "removal-sensitivity": "changes with the baseline",
    "interlocking": "better off elsewhere",
    "exclusion": "told from it alone",
}
ESTIMATED = {"encoding-share", "half-share"}  # shares whose estimate may fall below 0 or above 1
PEOPLE = "people"  # among places: what they marked, or what is known to decide
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "none": "for information; neither end is better",
}
SYMBOLS = {"trust": "✓", "care": "!", "reject": "✕"}
JUDGED = {"trust": "can be trusted", "care": "to be used with care", "reject": "not to be relied on"}
BARRED = "could not be looked at"  # how such reasons begin
ALONG = {  # what a curve runs along, where it is not the share of the units
    "cascading-randomization": "share of the layers drawn anew, the output's first",
    "independent-randomization": "layer drawn anew, from the output (0) to the input (1)",
}


def number(value: float | None) -> str:
    """Three decimals, fewer for large numbers, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.1e}".replace("e-0", "e-").replace("-", "−")
    digits = 3 if size < 10 else 1 if size < 1000 else 0
    return f"{value:.{digits}f}".replace("-", "−")


def said(check: str, value: float | None, write: Callable[[float | None], str] = number) -> str:
    """A deciding number as a reader takes it: an estimated share is a number between 0 and 1, or a word."""
    if check not in ESTIMATED or value is None:
        return write(value)
    if not math.isfinite(value):
        return "unknown"
    return "none" if value <= 0 else "all" if value >= 1 else write(value)


def interval(row: Result) -> str:
    """`[low, high]`, or nothing where the interval is not known."""
    known = math.isfinite(row.low) and math.isfinite(row.high)
    return f"[{number(row.low)}, {number(row.high)}]" if known else ""


def along(check: str) -> str:
    """What the points of a check's curve are."""
    return ALONG.get(check, "share of the units")


def summary(findings: Findings) -> str:
    """One sentence for somebody who reads nothing else; controls are left out."""
    judged = [v for v in findings.verdicts if v.explanation not in findings.controls]
    if not judged:
        return ""
    by = {word: [v.explanation for v in judged if v.verdict == word] for word in JUDGED}
    told = (f"{len(names)} {JUDGED[word]} ({', '.join(names)})" for word, names in by.items() if names)
    what = "1 explanation" if len(judged) == 1 else f"{len(judged)} explanations"
    return f"Of {what} of {findings.model}, " + "; ".join(told) + "." + _unasked(judged)


def _unasked(judged: list[Verdict]) -> str:
    """Whom of those trusted not every question could be put to: care of others may only mean that they were asked."""
    names = [v.explanation for v in judged if v.verdict == "trust" and any(r.startswith(BARRED) for r in v.reasons)]
    return f" Not everything could be asked of {', '.join(names)}: see the last reason." if names else ""


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
