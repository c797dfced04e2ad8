"""All that was measured, and what of it a verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.stats import fisher_exact
from torch import Tensor

from unmask.audit import evidence
from unmask.audit.case import Case, Subject, Values
from unmask.audit.halves import SINGLE
from unmask.audit.light import AGAIN
from unmask.audit.stability import BY_CONSTRUCTION
from unmask.audit.statistics import Bootstrap, balanced, holm, level

__all__ = ["Bench", "by_chance", "gathered", "p_values", "silent"]


@dataclass(frozen=True)
class Bench:
    """What the numbers are computed with: the case, shared resamples, and all values by (explanation, check)."""

    case: Case
    bootstrap: Bootstrap
    found: dict[tuple[str, str], tuple[Values, float]]
    nulls: dict[str, Subject]  # for each explanation, random units in the same numbers
    checks: tuple[str, ...] = ()

    def values(self, subject: str, check: str) -> Values:
        return self.found[subject, check][0]

    def null(self, subject: str, check: str) -> Values:
        return self.found[self.nulls[subject].name, check][0]


def by_chance(bench: Bench, name: str, check: str, null: Values) -> float:
    """The level that speaks for nobody: the random control's; of shares what its gain would be in this one's place."""
    gain = {"encoding-share": "encoding-gain", "half-share": "half-gain"}.get(check)
    if gain is None or gain not in bench.checks:
        return level(null.values, null.over)
    share = bench.values(name, check)
    return float("nan") if share.over is None else _seeming(bench, bench.null(name, gain), share)


def p_values(bench: Bench) -> dict[str, dict[str, float]]:
    """p-values of "more enough" and "more needed than random units", classes counting alike.

    One family: both questions of all explanations, Holm-adjusted together; the random control itself is no candidate.
    """
    weight, raw = balanced(bench.case.target), {}
    for check, sign in (("fs-m", 1.0), ("fu-m", -1.0)):
        for subject in bench.case.subjects:
            if subject.name != "random":
                difference = sign * _difference(bench, subject.name, check)
                raw[f"{check} {subject.name}"] = bench.bootstrap.p_above(difference, weight)
    adjusted = holm(raw)
    names = [s.name for s in bench.case.subjects]
    return {check: {name: adjusted.get(f"{check} {name}", 1.0) for name in names} for check in ("fs-m", "fu-m")}


def _difference(bench: Bench, name: str, check: str) -> Tensor:
    return bench.values(name, check).values - bench.null(name, check).values


def gathered(bench: Bench, subject: Subject, p: Mapping[str, Mapping[str, float]]) -> evidence.Evidence:
    """What the rule looks at, of one explanation; `p` as `p_values` gives them."""
    weight, name = balanced(bench.case.target), subject.name

    def pair(check: str) -> tuple[float, float]:
        own, null = (float((v.values * weight).sum()) for v in (bench.values(name, check), bench.null(name, check)))
        return own, null

    share, whole = bench.values(name, "encoding-share"), bench.values(name, "whole-rows")
    told, chance = bench.values(name, "reading-nats"), bench.null(name, "reading-nats")
    read = [float(v.values.mean()) for v in (bench.values(name, "reading"), bench.null(name, "reading"))]
    return evidence.Evidence(
        name=name,
        enough=(*pair("fs-m"), p["fs-m"][name]),
        needed=(*pair("fu-m"), p["fu-m"][name]),
        share=bench.bootstrap.interval(share.values, share.over)[:2],
        share_null=_seeming(bench, bench.null(name, "encoding-gain"), share),
        reading=(read[0], read[1], bench.bootstrap.low(_difference(bench, name, "reading-nats"))),
        nats=(level(told.values), level(chance.values)),
        known=level(whole.values, whole.over),
        one_sided=_one_sided(bench.case, bench.values(name, "fs-m").values),
        own_judge=(
            evidence.own_judge(subject.explanation.origin),
            bench.bootstrap.interval(bench.values(name, "reading").values)[2],
        ),
        unasked=tuple(q for q, checks in evidence.QUESTIONS.items() if _unasked(bench, name, checks)),
        barred=tuple(q for q, checks in evidence.QUESTIONS.items() if _in_vain(bench, name, checks)),
        **{part: _measured(bench, name, check) for part, check in evidence.EVIDENCE.items()},
    )


def _seeming(bench: Bench, gain: Values, share: Values) -> float:
    """What a choice that tells nothing seems to gain at most, as a share of what the explanation tells; at least 0.

    In nats: where random units tell next to nothing, a share of that could be anything.
    """
    told = float("nan") if share.over is None else float(share.over.double().mean())
    upper = bench.bootstrap.interval(gain.values)[2] / told
    return max(0.0, upper) if upper == upper else 0.0


def _measured(bench: Bench, name: str, check: str) -> tuple[float, float, float] | None:
    """Value, the bound that speaks for the explanation and the level of chance; None: not measured.

    The bound is the upper one where higher is better. What changes is given as what stays.
    """
    if check not in bench.checks or silent(bench.values(name, check)):
        return None
    own, null = bench.values(name, check), bench.null(name, check)
    value, low, high = bench.bootstrap.interval(own.values, own.over)
    chance = by_chance(bench, name, check, null)
    if check == "removal-sensitivity":
        return 1 - value, 1 - low, 1 - chance
    if check == "half-reading":
        return value, bench.bootstrap.low(_difference(bench, name, check)), chance
    return value, high if check in evidence.STEADINESS else low, chance


def _in_vain(bench: Bench, name: str, checks: Iterable[str]) -> bool:
    """Whether checks of these were run and none of them has a value."""
    run = [bench.values(name, check) for check in checks if check in bench.checks]
    empty = all(bool(found.values.isnan().all()) and found.note != SINGLE for found in run)
    return bool(run) and empty and not _unasked(bench, name, checks)


def _unasked(bench: Bench, name: str, checks: Iterable[str]) -> bool:
    """Whether no check of these was run, or only so lightly that it was left out."""
    return all(bench.values(name, check).note == AGAIN for check in checks if check in bench.checks)


def silent(found: Values) -> bool:
    """Whether a check says nothing of an explanation: it has no value, or one that could not have been another."""
    return found.note in BY_CONSTRUCTION or bool(found.values.isnan().all())


def _one_sided(case: Case, same: Tensor) -> str:
    """Between which classes fs-m differs too much, and surely: of many classes with few rows two differ by luck."""
    rows = {c: same[case.target == c].double() for c in case.target.unique().tolist()}
    rates = {c: float(hits.mean()) for c, hits in rows.items()}
    best, worst = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    counts = [(int(rows[c].sum()), len(rows[c]) - int(rows[c].sum())) for c in (best, worst)]
    pairs = math.comb(len(rates), 2)  # any two of them might have been these
    if rates[best] - rates[worst] <= evidence.ONE_SIDED or pairs * fisher_exact(counts).pvalue > evidence.ALPHA:
        return ""
    high, low = (f"{rates[c]:.0%} of the rows of class {case.data.classes[c]}" for c in (best, worst))
    return f"it keeps the answer in {high}, but in {low}"
