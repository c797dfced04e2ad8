"""Dots with intervals as inline SVG, one for each row of a table.

They use percentages, so they stretch with their cell; colours come from the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from unmask.report.wording import number

__all__ = ["Axis", "axis", "dot", "ruler", "tick"]

NARROWEST = 1e-5  # values closer than this, by their size, would have ticks with the same label
LETTERS = 20  # room under a column of dots on paper, the narrowest
TINIEST = 1e-300  # a number too small to be divided further


@dataclass(frozen=True)
class Axis:
    """Round ticks around some values."""

    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where `value` lies, 0 at the first tick and 1 at the last."""
        return (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


def axis(values: Iterable[float | None], zero: bool = True) -> Axis:
    """Four to six round steps that hold all finite values and zero, where that is wanted; fractions run to 1."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    finite = [0.0, *finite] if zero or not finite else finite
    low, high = min(finite), max(finite)
    if 0.5 < high <= 1:
        high = 1.0
    size = max(abs(low), abs(high))
    if high - low <= max(NARROWEST * size, TINIEST):
        high = low + max(1.0, size)
    rough = (high - low) / 5
    power = math.floor(math.log10(rough))
    step = next(m * 10.0**power for m in (1, 2, 2.5, 5, 10) if m * 10.0**power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(tuple(round(i * step, 1 - power) for i in range(first, last + 1)))  # a step has two digits at most


def _percent(scale: Axis, value: float) -> str:
    return f"{4 + 92 * scale.share(value):.2f}%"


def ruler(scale: Axis) -> str:
    """The numbers under a column of dots, every second one where all of them would touch each other."""
    names = [tick(t) for t in scale.ticks]
    wide = max(len(a) + len(b) for a, b in pairwise(names)) / 2 * (len(names) - 1)
    shown = list(zip(scale.ticks, names, strict=True))[:: 1 if wide < LETTERS else 2]
    texts = (f'<text x="{_percent(scale, t)}" y="12" text-anchor="middle">{name}</text>' for t, name in shown)
    return f'<svg class="ruler" width="100%" height="16" aria-hidden="true">{"".join(texts)}</svg>'


def dot(scale: Axis, value: float, span: tuple[float, float], null: float | None, look: str) -> str:
    """One value with its interval, and the level of the random control as a dashed line."""
    parts = [_upright(scale, t, "grid") for t in scale.ticks]
    if null is not None and math.isfinite(null):
        parts.append(_upright(scale, null, "null"))
    if all(map(math.isfinite, span)):
        ends = f'x1="{_percent(scale, span[0])}" x2="{_percent(scale, span[1])}"'
        parts.append(f'<line class="span {look}" {ends} y1="50%" y2="50%"/>')
    if math.isfinite(value):
        parts.append(f'<circle class="dot {look}" cx="{_percent(scale, value)}" cy="50%" r="5"/>')
    label = f"{number(value)}, random control {number(null)}"
    return f'<svg class="dots" width="100%" height="28" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _upright(scale: Axis, value: float, look: str) -> str:
    x = _percent(scale, value)
    return f'<line class="{look}" x1="{x}" x2="{x}" y1="0" y2="100%"/>'


def tick(value: float) -> str:
    """The shortest way to write a round number."""
    return f"{value:g}".replace("-", "−")
