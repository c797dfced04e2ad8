"""Run the tables: every check on every explanation, intervals and nulls once, then the verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor

from unmask import progress
from unmask.audit import CHECKS, DECIDING, QUESTIONS, budget, function_of, verdict
from unmask.audit.case import Case, Subject, Values, digest
from unmask.audit.dependence import REFITS
from unmask.audit.examples import examples
from unmask.audit.locked import explains_itself
from unmask.audit.looking import pays_attention
from unmask.audit.memo import Memo
from unmask.audit.recording import recorded
from unmask.audit.stability import DRAWS
from unmask.audit.statistics import Bootstrap, balanced, by_row, holm
from unmask.audit.subjects import Settings, assemble, control
from unmask.masking.controls import CONTROLS
from unmask.models import Wrapped
from unmask.types import Dataset, Explainer, Explanation, Findings, Result, Verdict

__all__ = ["cost", "run"]


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
    """Audit the given explainers and ready-made explanations; with `resume`, finished checks are kept there."""
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
        settings=recorded(case, settings) | ({} if plan is None else {"left out": list(plan.left_out)}),
        questions={
            text: found
            for q, text in QUESTIONS.items()
            if (found := tuple(c for c in settings.checks if CHECKS[c].question == q))
        },
        definitions={name: CHECKS[name].line for name in settings.checks},
    )


def _fitting(model: Wrapped, data: Dataset, given: Mapping[str, object], settings: Settings) -> Settings:
    """The settings without checks on what is not there: attention, rationales, units that people marked."""
    has = {
        "attention": pays_attention(model),
        "rationale": any(explains_itself(thing) for thing in given.values()),
        "truth": data[settings.split].relevant is not None,
    }
    lacks = [what for what, there in has.items() if not there]
    fit = (name for name in settings.checks if not any(getattr(CHECKS[name], what) for what in lacks))
    return replace(settings, checks=tuple(fit))


def cost(data: Dataset, given: Mapping[str, object], settings: Settings) -> str:
    """What an audit will take, in a sentence, before anything is fitted."""
    rows = min(settings.n, len(data[settings.split]))
    judged = sum(min(most, len(data[s])) for s, most in settings.pools.items())
    total, shared = len(given) + len(CONTROLS), 6 if "eval-x" in settings.checks else 3
    return (
        f"auditing {len(given)} explanations and {len(CONTROLS)} controls on {rows} rows: about "
        f"{rows * (1 + 2 * total) + judged:,} model answers besides what the methods ask themselves, "
        f"{total * judged:,} further rows explained for the judges, at least {6 * total + shared} judges trained"
        + "".join(f", {more}" for more in _on_demand(data, given, settings.checks, rows))
    )


def _on_demand(data: Dataset, given: Mapping[str, object], checks: Iterable[str], rows: int) -> list[str]:
    """What the costly checks come to: only explainers, given or by name, can be asked and fitted again."""
    askable = sum(isinstance(thing, str) or hasattr(thing, "explain") for thing in given.values())
    fresh, moved = len({"fs-a", "fu-a"} & {*checks}), {"sen", "sen-legacy"} & {*checks} and not data.layout.is_text
    refits = REFITS * ("randomized-model" in checks) + ("permuted-labels" in checks)
    parts = {
        f"at least {fresh * (len(given) + len(CONTROLS))} fresh networks trained": fresh,
        f"{askable * DRAWS * rows:,} moved rows explained": moved and askable,
        f"{askable * refits} explainers fitted again": refits * askable,
        "a copy of the model trained on shuffled labels": "permuted-labels" in checks,
    }
    return [text for text, wanted in parts.items() if wanted]


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
        if CHECKS[name].by_class:
            for c, label in enumerate(bench.case.data.classes):
                there = bench.case.target == c
                parts = (Values(torch.where(there, v.values, torch.nan)) for v in (own, null))
                rows.append(_result(bench, subject, f"{name}@class={label}", *parts))
    return rows


def _result(bench: _Bench, subject: Subject, label: str, own: Values, null: Values) -> Result:
    name, _, by_class = label.partition("@")
    value, low, high = bench.bootstrap.interval(own.values, own.over)
    level = bench.bootstrap.interval(null.values, null.over)[0]
    return Result(
        explanation=subject.name,
        check=label,
        value=value,
        low=low,
        high=high,
        null=level,
        better=CHECKS[name].better,
        passed=None if by_class else _passed(bench, subject, name),
        n=int((~own.values.isnan()).sum()),
        seconds=0.0 if by_class else bench.found[subject.name, name][1],
        note=own.note,
        values=() if by_class or subject.name in CONTROLS else tuple(by_row(own.values, own.over)),
    )


def _passed(bench: _Bench, subject: Subject, check: str) -> bool | None:
    """Whether a deciding number is on the good side of its rule; None for what only informs."""
    decides = check in (*DECIDING, "randomized-model", "attention-flow", "interlocking", "exclusion")
    if not decides or bool(bench.values(subject.name, check).values.isnan().all()):
        return None
    e = _evidence(bench, subject, bench.case.once("p-values", lambda: _p_values(bench)))
    return {
        "fs-m": e.enough[2] <= verdict.ALPHA,
        "fu-m": e.needed[2] <= verdict.ALPHA,
        "encoding-share": not verdict.leaks(e),
        "reading": e.reading[2] > 0,
        "randomized-model": not verdict.survives(e),
        "attention-flow": not verdict.hides(e),
        "interlocking": not verdict.locked(e),
        "exclusion": not verdict.open_(e),
    }[check]


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


def _verdicts(bench: _Bench) -> tuple[Verdict, ...]:
    p = bench.case.once("p-values", lambda: _p_values(bench))
    return tuple(verdict.decide(_evidence(bench, subject, p)) for subject in bench.case.subjects)


def _evidence(bench: _Bench, subject: Subject, p: Mapping[str, Mapping[str, float]]) -> verdict.Evidence:
    weight, name = balanced(bench.case.target), subject.name

    def pair(check: str) -> tuple[float, float]:
        own, null = (float((v.values * weight).sum()) for v in (bench.values(name, check), bench.null(name, check)))
        return own, null

    share, null = bench.values(name, "encoding-share"), bench.null(name, "encoding-share")
    level = bench.bootstrap.interval(null.values, null.over)[2]
    read = [float(v.values.mean()) for v in (bench.values(name, "reading"), bench.null(name, "reading"))]
    return verdict.Evidence(
        name=name,
        enough=(*pair("fs-m"), p["fs-m"][name]),
        needed=(*pair("fu-m"), p["fu-m"][name]),
        share=bench.bootstrap.interval(share.values, share.over)[:2],
        share_null=max(0.0, level) if level == level else 0.0,
        reading=(read[0], read[1], bench.bootstrap.low(_difference(bench, name, "reading"))),
        one_sided=_one_sided(bench.case, bench.values(name, "fs-m").values),
        randomized=_measured(bench, name, "randomized-model"),
        hidden=_measured(bench, name, "attention-flow"),
        elsewhere=_measured(bench, name, "interlocking"),
        sealed=_measured(bench, name, "exclusion"),
    )


def _measured(bench: _Bench, name: str, check: str) -> tuple[float, float, float] | None:
    """Value, lower bound and the random control's value of a check that not every audit has; None: not measured."""
    if check not in bench.checks or bool(bench.values(name, check).values.isnan().all()):
        return None
    own, null = bench.values(name, check), bench.null(name, check)
    value, low, _ = bench.bootstrap.interval(own.values, own.over)
    return value, low, bench.bootstrap.interval(null.values, null.over)[0]


def _one_sided(case: Case, same: Tensor) -> str:
    rates = {c: float(same[case.target == c].mean()) for c in case.target.unique().tolist()}
    best, worst = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    if rates[best] - rates[worst] <= verdict.ONE_SIDED:
        return ""
    high, low = (f"{rates[c]:.0%} of the rows of class {case.data.classes[c]}" for c in (best, worst))
    return f"it keeps the answer in {high}, but in {low}"
