"""Run the tables: every check on every explanation, intervals and nulls once, then the verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor

from unmask import progress
from unmask.audit import CHECKS, DECIDING, QUESTIONS, budget, evidence, function_of
from unmask.audit.case import Case, Subject, Values, digest
from unmask.audit.examples import examples, heats, learning, places
from unmask.audit.locked import explains_itself
from unmask.audit.looking import pays_attention
from unmask.audit.memo import Memo
from unmask.audit.recording import recorded
from unmask.audit.stability import DRAWS_NOTHING
from unmask.audit.statistics import Bootstrap, balanced, by_row, holm, level
from unmask.audit.subjects import Settings, assemble, control
from unmask.audit.verdict import decide
from unmask.masking.controls import CONTROLS
from unmask.models import Wrapped
from unmask.types import Dataset, Explainer, Explanation, Findings, Result, Verdict

__all__ = ["run"]


@dataclass(frozen=True)
class _Bench:
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


def run(
    model: Wrapped,
    data: Dataset,
    given: Mapping[str, Explainer | Explanation],
    settings: Settings,
    *,
    resume: Path | None = None,
    say: Callable[[str], None] = progress.say,
) -> Findings:
    """Audit the given explainers and ready-made explanations; with `resume`, finished checks are kept there.

    Where the settings leave out checks that a verdict needs, there is none.
    """
    settings = _fitting(model, data, given, settings)
    case = assemble(model, data, given, settings)
    settings, plan = budget.within(case, settings, say)
    bench = _measure(case, Memo(resume), settings)
    rows = tuple(row for subject in case.subjects for row in _rows(bench, subject))
    return Findings(
        task=data.name,
        model=model.name,
        rows=rows,
        verdicts=_verdicts(bench),
        controls=tuple(CONTROLS),
        examples=tuple(examples(case)),
        heats=tuple(heats(case)),
        settings=recorded(case, settings) | ({} if plan is None else {"left out": list(plan.left_out)}),
        questions={
            text: found
            for q, text in QUESTIONS.items()
            if (found := tuple(c for c in settings.checks if CHECKS[c].question == q))
        },
        definitions={name: CHECKS[name].line for name in settings.checks},
        places=places(case),
        learning=learning(case),
    )


def _fitting(model: Wrapped, data: Dataset, given: Mapping[str, object], settings: Settings) -> Settings:
    """The settings without checks on what is not there: attention, rationales, units that people marked."""
    has = {
        "attention": pays_attention(model),
        "rationale": any(explains_itself(thing) for thing in given.values()),
        "truth": data[settings.split].relevant is not None,
        "several": len(given) > 1,
    }
    lacks = [what for what, there in has.items() if not there]
    fit = (name for name in settings.checks if not any(getattr(CHECKS[name], what) for what in lacks))
    return replace(settings, checks=tuple(fit))


def _measure(case: Case, memo: Memo, settings: Settings) -> _Bench:
    nulls = {s.name: _null(case, s) for s in case.subjects}
    hidden = [s for s in nulls.values() if s.name not in {t.name for t in case.subjects}]
    everyone = [*case.subjects, *{s.name: s for s in hidden}.values()]
    found = {}
    base = digest(case.full, case.target, *(s.kept for s in case.subjects)) + version("unmask")
    how = f"{settings.seed}:{settings.pool}:{case.removal.name}"
    with progress.bar("auditing", len(everyone) * len(settings.checks)) as step:
        for subject in everyone:
            for check in settings.checks:
                key = f"{base}:{how}:{subject.key}:{subject.name}:{check}"
                found[subject.name, check] = memo.get(key) or _timed(case, subject, check)
                memo.put(key, *found[subject.name, check])
                step(f"{subject.name}: {check}")
    memo.clear()
    return _Bench(case, Bootstrap(len(case.target), settings.seed), found, nulls, settings.checks)


def _null(case: Case, subject: Subject) -> Subject:
    """The random control, or one of its own where units differ in number by row or the judges' rows are others."""
    shared = next(s for s in case.subjects if s.name == "random")
    counts = subject.kept.sum(1)
    if bool((counts == shared.kept.sum(1)).all()) and subject.train is not None:
        return shared
    alike = ("null", digest(counts), subject.train is None)
    return case.once(alike, lambda: control(case, "random", counts, like=subject))


def _timed(case: Case, subject: Subject, check: str) -> tuple[Values, float]:
    started = time.perf_counter()
    values = function_of(check)(case, subject)
    return values, time.perf_counter() - started


def _rows(bench: _Bench, subject: Subject) -> list[Result]:
    rows = []
    for name in bench.checks:
        own, null = bench.values(subject.name, name), bench.null(subject.name, name)
        rows.append(_result(bench, subject, name, own, null))
        for label, part, chance in _parts(bench.case, own, null, CHECKS[name].by_class):
            rows.append(_part(bench, subject, f"{name}@{label}", part, chance))
        for at, point in own.curve.items():
            rows.append(replace(_part(bench, subject, name, point, null.curve.get(at)), at=at))
    return rows


def _parts(case: Case, own: Values, null: Values, by_class: bool) -> Iterator[tuple[str, Tensor, Tensor | None]]:
    """What a check is split by: its label, the values there, and those of the random control where it has them."""
    for c, label in enumerate(case.data.classes if by_class else ()):
        there = case.target == c
        part, chance = (torch.where(there, v.values, torch.nan) for v in (own, null))
        yield f"class={label}", part, chance
    for label, part in own.parts.items():
        yield label, part, null.parts.get(label)


def _part(bench: _Bench, subject: Subject, label: str, values: Tensor, null: Tensor | None) -> Result:
    chance = torch.full_like(values, torch.nan) if null is None else null
    whole = _result(bench, subject, label, Values(values), Values(chance))
    return replace(whole, passed=None, seconds=0.0)


def _result(bench: _Bench, subject: Subject, label: str, own: Values, null: Values) -> Result:
    name = label.partition("@")[0]
    value, low, high = bench.bootstrap.interval(own.values, own.over)
    return Result(
        explanation=subject.name,
        check=label,
        value=value,
        low=low,
        high=high,
        null=level(null.values, null.over),
        better=CHECKS[name].better,
        passed=_passed(bench, subject, name) if name == label else None,
        n=int((~own.values.isnan()).sum()),
        seconds=bench.found[subject.name, name][1],
        note=own.note,
        values=() if name != label or subject.name in CONTROLS else tuple(by_row(own.values, own.over)),
    )


def _passed(bench: _Bench, subject: Subject, check: str) -> bool | None:
    """Whether a deciding number is on the good side of its rule; None for what only informs."""
    decides = check in (*DECIDING, *evidence.EVIDENCE.values())
    if not decides or not _decided(bench) or _silent(bench.values(subject.name, check)):
        return None
    e = _evidence(bench, subject, bench.case.once("p-values", lambda: _p_values(bench)))
    return evidence.passes(e)[check]


def _p_values(bench: _Bench) -> dict[str, dict[str, float]]:
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


def _difference(bench: _Bench, name: str, check: str) -> Tensor:
    return bench.values(name, check).values - bench.null(name, check).values


def _decided(bench: _Bench) -> bool:
    """Whether all that a verdict needs was measured."""
    return set(DECIDING) <= set(bench.checks)


def _verdicts(bench: _Bench) -> tuple[Verdict, ...]:
    if not _decided(bench):
        return ()
    p = bench.case.once("p-values", lambda: _p_values(bench))
    return tuple(decide(_evidence(bench, subject, p)) for subject in bench.case.subjects)


def _evidence(bench: _Bench, subject: Subject, p: Mapping[str, Mapping[str, float]]) -> evidence.Evidence:
    weight, name = balanced(bench.case.target), subject.name

    def pair(check: str) -> tuple[float, float]:
        own, null = (float((v.values * weight).sum()) for v in (bench.values(name, check), bench.null(name, check)))
        return own, null

    share, whole = bench.values(name, "encoding-share"), bench.values(name, "whole-rows")
    read = [float(v.values.mean()) for v in (bench.values(name, "reading"), bench.null(name, "reading"))]
    return evidence.Evidence(
        name=name,
        enough=(*pair("fs-m"), p["fs-m"][name]),
        needed=(*pair("fu-m"), p["fu-m"][name]),
        share=bench.bootstrap.interval(share.values, share.over)[:2],
        share_null=_seeming(bench, bench.null(name, "encoding-gain"), share),
        reading=(read[0], read[1], bench.bootstrap.low(_difference(bench, name, "reading-nats"))),
        known=level(whole.values, whole.over),
        one_sided=_one_sided(bench.case, bench.values(name, "fs-m").values),
        own_judge=(
            evidence.own_judge(subject.explanation.origin),
            bench.bootstrap.interval(bench.values(name, "reading").values)[2],
        ),
        **{part: _measured(bench, name, check) for part, check in evidence.EVIDENCE.items()},
    )


def _seeming(bench: _Bench, gain: Values, share: Values) -> float:
    """What a choice that tells nothing seems to gain at most, as a share of what the explanation tells; at least 0.

    In nats: where random units tell next to nothing, a share of that could be anything.
    """
    told = float("nan") if share.over is None else float(share.over.double().mean())
    upper = bench.bootstrap.interval(gain.values)[2] / told
    return max(0.0, upper) if upper == upper else 0.0


def _measured(bench: _Bench, name: str, check: str) -> tuple[float, float, float] | None:
    """Value, the bound that speaks for the explanation and the random control's value; None: not measured.

    The bound is the upper one where higher is better. What changes is given as what stays.
    """
    if check not in bench.checks or _silent(bench.values(name, check)):
        return None
    own, null = bench.values(name, check), bench.null(name, check)
    value, low, high = bench.bootstrap.interval(own.values, own.over)
    chance = level(null.values, null.over)
    if check == "removal-sensitivity":
        return 1 - value, 1 - low, 1 - chance
    if check == "quiet-reading":
        return value, bench.bootstrap.low(_difference(bench, name, check)), chance
    return value, high if check in evidence.STEADINESS else low, chance


def _silent(found: Values) -> bool:
    """Whether a check says nothing of an explanation: it has no value, or one that could not have been another."""
    return found.note == DRAWS_NOTHING or bool(found.values.isnan().all())


def _one_sided(case: Case, same: Tensor) -> str:
    rates = {c: float(same[case.target == c].mean()) for c in case.target.unique().tolist()}
    best, worst = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    if rates[best] - rates[worst] <= evidence.ONE_SIDED:
        return ""
    high, low = (f"{rates[c]:.0%} of the rows of class {case.data.classes[c]}" for c in (best, worst))
    return f"it keeps the answer in {high}, but in {low}"
