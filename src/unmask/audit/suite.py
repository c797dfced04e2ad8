"""Run the tables: every check on every explanation, intervals and nulls once, then the verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version

import torch
from torch import Tensor

from unmask import progress
from unmask.audit import CHECKS, DECIDING, QUESTIONS, budget, evidence, function_of
from unmask.audit.case import Case, Subject, Values, digest
from unmask.audit.examples import examples, heats, learning, places
from unmask.audit.gathering import Bench, by_chance, gathered, p_values, silent
from unmask.audit.light import lightly
from unmask.audit.locked import explains_itself
from unmask.audit.looking import pays_attention
from unmask.audit.memo import Memo, code, marks
from unmask.audit.recording import doubts, recorded
from unmask.audit.statistics import Bootstrap, by_row
from unmask.audit.subjects import Settings, assemble, control
from unmask.audit.verdict import decide
from unmask.masking.controls import CONTROLS
from unmask.models import Wrapped
from unmask.types import Dataset, Explainer, Explanation, Findings, Result, Verdict

__all__ = ["run"]

Key = Callable[[Subject, str], str]  # of an explanation and a check


def run(
    model: Wrapped,
    data: Dataset,
    given: Mapping[str, Explainer | Explanation],
    settings: Settings,
    *,
    memo: Memo | None = None,
    say: Callable[[str], None] = progress.say,
) -> Findings:
    """Audit the given explainers and ready-made explanations; what `memo` has is not run again.

    Where the settings leave out checks that a verdict needs, there is none.
    """
    settings = _fitting(model, data, given, settings)
    case = assemble(model, data, given, settings)
    if doubt := doubts(case):
        progress.warn(doubt)
    nulls, memo = {s.name: _null(case, s) for s in case.subjects}, memo or Memo(None)
    key = _keys(case, memo, settings)

    def known(subject: Subject, check: str) -> bool:
        return all(memo.get(key(one, check)) for one in (subject, nulls[subject.name]))

    settings, plan = budget.within(case, settings, say, known)
    bench = _measure(case, nulls, memo, key, settings)
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


def _keys(case: Case, memo: Memo, settings: Settings) -> Key:
    """The keys of values: fingerprints of the rows, of all explanations and of how they are measured."""
    if memo.path is None:
        return lambda subject, check: ""
    told = (e.scores for s in case.subjects for e in (s.explanation, s.train, s.validation) if e is not None)
    spare = (part for s in case.subjects if s.spare is not None for part in (s.spare_x, s.spare.target))
    rows = (case.x, case.full, case.target, case.labels, case.relevant, case.data.layout)
    names, kept = tuple(s.name for s in case.subjects), (s.kept for s in case.subjects)
    how = (names, settings.seed, settings.pool, case.removal.name, version("unmask"), code())
    grounds = memo.grounds or digest(*marks(case.model, case.removal, case.data))
    base = digest(*rows, *kept, *told, *spare, grounds, how)

    def key(subject: Subject, check: str) -> str:
        mark = case.once(("key", subject.name), lambda: subject.key)
        return f"{base}:{mark}:{subject.name}:{check}:{check in (settings.light or ())}"

    return key


def _measure(case: Case, nulls: dict[str, Subject], memo: Memo, key: Key, settings: Settings) -> Bench:
    hidden = [s for s in nulls.values() if s.name not in {t.name for t in case.subjects}]
    everyone = [*case.subjects, *{s.name: s for s in hidden}.values()]
    found = {}
    with progress.bar("auditing", len(everyone) * len(settings.checks)) as step:
        for subject in everyone:
            for check in settings.checks:
                own = key(subject, check)
                light = check in (settings.light or ())
                found[subject.name, check] = memo.get(own) or _timed(case, subject, check, light)
                memo.put(own, *found[subject.name, check])
                step(f"{subject.name}: {check}")
    return Bench(case, Bootstrap(len(case.target), settings.seed), found, nulls, settings.checks)


def _null(case: Case, subject: Subject) -> Subject:
    """The random control, or one of its own where units differ in number by row or the judges' rows are others."""
    shared = next(s for s in case.subjects if s.name == "random")
    counts = subject.kept.sum(1)
    if bool((counts == shared.kept.sum(1)).all()) and subject.train is not None:
        return shared
    pools = (e.kept.sum(1) for e in (subject.train, subject.validation) if e is not None)
    alike = ("null", digest(counts, *pools), subject.train is None)
    return case.once(alike, lambda: control(case, "random", counts, like=subject))


def _timed(case: Case, subject: Subject, check: str, light: bool) -> tuple[Values, float]:
    started = time.perf_counter()
    values = lightly(case, subject, check) if light else function_of(check)(case, subject)
    return values, time.perf_counter() - started


def _rows(bench: Bench, subject: Subject) -> list[Result]:
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


def _part(bench: Bench, subject: Subject, label: str, values: Tensor, null: Tensor | None) -> Result:
    chance = torch.full_like(values, torch.nan) if null is None else null
    whole = _result(bench, subject, label, Values(values), Values(chance))
    return replace(whole, passed=None, seconds=0.0)


def _result(bench: Bench, subject: Subject, label: str, own: Values, null: Values) -> Result:
    name = label.partition("@")[0]
    value, low, high = bench.bootstrap.interval(own.values, own.over)
    return Result(
        explanation=subject.name,
        check=label,
        value=value,
        low=low,
        high=high,
        null=by_chance(bench, subject.name, label, null),
        better=CHECKS[name].better,
        passed=_passed(bench, subject, name) if name == label else None,
        n=int((~own.values.isnan()).sum()),
        seconds=bench.found[subject.name, name][1],
        note=own.note,
        values=() if name != label or subject.name in CONTROLS else tuple(by_row(own.values, own.over)),
    )


def _passed(bench: Bench, subject: Subject, check: str) -> bool | None:
    """Whether a deciding number is on the good side of its rule; None for what only informs."""
    decides = check in (*DECIDING, *evidence.EVIDENCE.values())
    if not decides or not _decided(bench) or silent(bench.values(subject.name, check)):
        return None
    e = gathered(bench, subject, bench.case.once("p-values", lambda: p_values(bench)))
    return evidence.passes(e)[check]


def _decided(bench: Bench) -> bool:
    """Whether all that a verdict needs was measured."""
    return set(DECIDING) <= set(bench.checks)


def _verdicts(bench: Bench) -> tuple[Verdict, ...]:
    if not _decided(bench):
        return ()
    p = bench.case.once("p-values", lambda: p_values(bench))
    return tuple(decide(gathered(bench, subject, p)) for subject in bench.case.subjects)
