"""What changed between two reports, and whether it is more than chance.

Where both looked at the same rows with the same seed and hold a value for each row, rows are compared with themselves.
Otherwise the intervals tell how far two numbers lie apart by chance: other seeds draw other rows and fits, and
comparing row by row would take that for a change. Numbers that judges learned have an error of their own besides. All
comparisons are one family, adjusted after Holm.

Reports of other data, or without an explanation in common, are refused: a comparison that was none would pass for good
news.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.audit import CHECKS
from unmask.audit.statistics import holm
from unmask.errors import InputError
from unmask.stored.reading import Fresh, Number, Stored, as_stored

__all__ = ["Change", "Comparison", "compare"]

ALPHA = 0.05
WIDE = 2 * 1.959964  # standard errors between the ends of an interval of 95%
# What training judges and networks anew adds to the error of a number, beyond its rows: over the seeds of
# benchmarks/results/calibration.json readings spread by .02, encoding shares by .03 in the median and .11 in the mean.
LEARNED = 0.06
TRAINED = (  # networks, the model or the explainer, anew
    "fs-a",
    "fu-a",
    "roar",
    "roar-recursive",
    "seed-stability",
    "seed-correlation",
    "randomized-model",
    "permuted-labels",
    "cascading-randomization",
    "independent-randomization",
    "removal-sensitivity",
    "interlocking",
)
UNSAMPLED = ("seconds", "calls", "encoding-p", "locked-seeds")  # times, a p-value, a rate of fits: no means over rows
HEAD = ("k", "removal", "split", "n", "seed", "run lightly", "versions")  # settings worth naming where they differ
ALIKE = ("kind", "classes", "units")  # of the data, where both reports tell it; a file may be renamed


@dataclass(frozen=True)
class Change:
    """One number in both reports; `p` is adjusted for all comparisons together."""

    explanation: str
    check: str
    before: float
    after: float
    p: float
    paired: bool
    better: str

    @property
    def significant(self) -> bool:
        return self.p <= ALPHA

    @property
    def word(self) -> str:
        """better, worse, or changed where neither direction is better."""
        if self.better not in ("higher", "lower"):
            return "changed"
        return "better" if (self.after > self.before) == (self.better == "higher") else "worse"


@dataclass(frozen=True)
class Comparison:
    """Everything that two reports tell about each other."""

    changes: tuple[Change, ...]  # all that were compared, the surest first
    verdicts: Mapping[str, tuple[str, str]]  # those that differ
    settings: Mapping[str, tuple[Any, Any]]  # those that differ
    only: tuple[tuple[str, ...], tuple[str, ...]]  # explanations that stand in one report only

    @property
    def significant(self) -> list[Change]:
        return [change for change in self.changes if change.significant]


def compare(before: Stored | Fresh | str | Path, after: Stored | Fresh | str | Path) -> Comparison:
    """The numbers of all explanations that are in both reports, controls left out.

    A report is what an audit returned, what `read_report` gave, or the path of a report.json.
    """
    before, after = as_stored(before), as_stored(after)
    _refuse_other_data(before, after)
    both = [name for name in before.explanations if name in after.explanations]
    if not both:
        names = [", ".join(report.explanations) or "none" for report in (before, after)]
        raise InputError(
            f"{before.name} and {after.name} share no explanation ({names[0]}; {names[1]}); give explanations to be "
            "compared the same name"
        )
    alike = _same_rows(before, after)
    pairs = {
        (name, check): (number, after.numbers[name, check])
        for (name, check), number in before.numbers.items()
        if name in both and (name, check) in after.numbers and check not in UNSAMPLED and "@" not in check
    }
    told = {key: pair for key, pair in pairs.items() if all(math.isfinite(number.value) for number in pair)}
    raw = {key: _p_value(*pair, paired=alike, more=_learned(key[1])) for key, pair in told.items()}
    adjusted = holm({"\x1f".join(key): p for key, (p, _) in raw.items()})
    changes = [
        Change(*key, a.value, b.value, adjusted["\x1f".join(key)], raw[key][1], b.better)
        for key, (a, b) in told.items()
    ]
    return Comparison(
        changes=tuple(sorted(changes, key=lambda change: change.p)),
        verdicts={n: (before.verdicts[n], after.verdicts[n]) for n in both if _differ(before, after, n)},
        settings=_settings(before, after),
        only=tuple(tuple(n for n in r.explanations if n not in both) for r in (before, after)),  # type: ignore[arg-type]
    )


def _refuse_other_data(before: Stored, after: Stored) -> None:
    """Numbers of other data cannot be compared; the order of the classes does not matter."""
    held = [report.settings.get("data") for report in (before, after)]
    for key in ALIKE:
        told = [data.get(key) if isinstance(data, Mapping) else None for data in held]
        a, b = (sorted(map(str, one)) if isinstance(one, list | tuple) else one for one in told)
        if None not in told and a != b:
            raise InputError(
                f"{before.name} and {after.name} are of other data: {key} {_short(told[0])} against {_short(told[1])}; "
                "compare reports of the same data"
            )


def _short(told: Any) -> str:
    """A setting of the data, of a long list its beginning."""
    if not isinstance(told, list | tuple):
        return str(told)
    return ", ".join(map(str, told[:4])) + (f" and {len(told) - 4} more" if len(told) > 4 else "")


def _differ(before: Stored, after: Stored, name: str) -> bool:
    there = name in before.verdicts and name in after.verdicts
    return there and before.verdicts[name] != after.verdicts[name]


def _same_rows(before: Stored, after: Stored) -> bool:
    told = [(report.settings.get("rows"), report.settings.get("seed")) for report in (before, after)]
    return told[0] == told[1] and told[0][0] is not None


def _settings(before: Stored, after: Stored) -> dict[str, tuple[Any, Any]]:
    facts: dict[str, tuple[Any, Any]] = {"task": (before.task, after.task), "model": (before.model, after.model)}
    facts |= {key: (before.settings.get(key), after.settings.get(key)) for key in HEAD}
    return {key: pair for key, pair in facts.items() if pair[0] != pair[1]}


def _learned(check: str) -> float:
    """The error that training adds to a check, where it trains anything."""
    known = CHECKS.get(check)
    judged = known is not None and known.question == "smuggling" and check != "approximator-gap"
    return LEARNED if judged or check in TRAINED else 0.0


def _p_value(a: Number, b: Number, paired: bool, more: float = 0.0) -> tuple[float, bool]:
    """Two-sided p-value of "the two are the same", and whether rows were compared with themselves."""
    if a.value == b.value:
        return 1.0, paired
    differences = [y - x for x, y in zip(a.values, b.values, strict=False) if math.isfinite(y - x)]
    paired = paired and len(a.values) == len(b.values) and len(differences) > 1
    least = max(abs(a.value), abs(b.value)) / max(1, min(a.n, b.n))  # all rows alike: one of n + 1 may yet differ
    if paired:
        mean = sum(differences) / len(differences)
        spread = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
        error = math.hypot(max(math.sqrt(spread / len(differences)), least), more, more)
        return _two_sided(mean, error, len(differences)), True
    error = math.hypot(*(max((number.high - number.low) / WIDE, least) for number in (a, b)), more, more)
    return _two_sided(b.value - a.value, error, min(a.n, b.n)), False


def _two_sided(difference: float, error: float, n: int) -> float:
    from scipy import stats

    return float(2 * stats.t.sf(abs(difference) / max(error, 1e-300), max(1, n - 1)))
