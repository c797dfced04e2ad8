"""Which checks fit into the time there is: what each needs, by what one answer and one judge were measured to take.

An estimate, no promise: judges stop when they stop learning. The checks that a verdict rests on are always run.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from unmask import seeds
from unmask.audit import CHECKS, DECIDING
from unmask.audit.case import Case, Subject
from unmask.audit.folds import FOLDS
from unmask.audit.locked import explains_itself
from unmask.audit.subjects import Settings
from unmask.audit.work import Size, Work, job_of, planned
from unmask.errors import InputError, UnmaskError, UnmaskWarning
from unmask.judge import RECIPE, judge_net, mixed_sizes, train_judge
from unmask.masking.controls import CONTROLS
from unmask.training import Recipe

__all__ = ["Plan", "Rates", "plan", "seconds_of", "within"]

Known = Callable[[Subject, str], bool]  # whether what a check says of an explanation was found before

EPOCHS = 20  # after which a judge has usually stopped, of the 60 it may take
OF_TEXTS = 3.0  # a judge that has yet to learn what words mean takes so many times as long (measured: 9 s to 3 s)
FRESH = 3.0  # a network trained anew takes as long as so many judges
FOREST = 0.3  # seconds to grow one and ask it
SAMPLE = 64  # rows that the model is asked about to measure it
WRITING = 3.0  # seconds for intervals, examples and the page


@dataclass(frozen=True)
class Rates:
    """Seconds for one answer of the model, for a judge to learn one row once, and to fit all explainers once more."""

    answer: float
    lesson: float
    fitting: float


@dataclass(frozen=True)
class Plan:
    """What is run, about how long that takes, and what is left out with the seconds it would take."""

    checks: tuple[str, ...]
    seconds: float
    left_out: Mapping[str, float]

    def sentence(self, budget: float) -> str:
        said = f"budget {budget:.0f} s: {len(self.checks)} checks are planned, about {self.seconds:.0f} s from here"
        if self.left_out:
            said += ", left out: " + ", ".join(f"{name} ({_about(s)})" for name, s in self.left_out.items())
        return said


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds < math.inf else "no time to see how long fitting again takes"


def seconds_of(text: str, what: str = "a budget") -> float:
    """ "60s", "5m", "1.5h" or a bare number of seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text.strip())
    seconds = float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise InputError(f"{what} is a time such as 60s, 5m or 1h, got {text!r}")
    return seconds


def within(
    case: Case, settings: Settings, say: Callable[[str], None], known: Known = lambda subject, check: False
) -> tuple[Settings, Plan | None]:
    """The settings with the checks that fit into what is left of the budget, and the plan, which is said.

    What is `known` of an explanation by a check costs nothing.
    """
    if settings.budget is None:
        return settings, None
    lacking = {name: [s for s in case.subjects if not known(s, name)] for name in settings.checks}
    free = [name for name, some in lacking.items() if not some]
    rates, end = _measured(case), settings.begun + settings.budget - WRITING
    cost = _prices(case, settings, rates, lacking, {})
    first = plan([name for name in settings.checks if name in DECIDING], cost, 0.0, free)
    cost = _prices(case, settings, rates, lacking, _fits(case, settings, lacking, end - first.seconds))
    left = end - time.perf_counter()
    found = plan(settings.checks, cost, left, free)
    say(found.sentence(settings.budget))
    if found.seconds > left:
        say(f"that is more than the {max(left, 0):.0f} s left: the checks that a verdict needs are run all the same")
    return replace(settings, checks=found.checks), found


def plan(checks: Iterable[str], cost: Mapping[str, float], left: float, free: Collection[str] = ()) -> Plan:
    """The deciding checks, then the others from the cheapest to the dearest, as long as they fit; `free` ones do."""
    wanted = list(checks)
    first = [name for name in wanted if name in DECIDING]
    done, total, left_out = set[str](), 0.0, {}
    rest = sorted((name for name in wanted if name not in DECIDING), key=lambda name: cost[job_of(name)])
    for name in [*first, *rest]:
        more = 0.0 if job_of(name) in done or name in free else cost[job_of(name)]
        if name not in first and total + more > left and more > 0:
            left_out[name] = more
            continue
        if name not in free:
            done.add(job_of(name))
        total += more
    return Plan(tuple(name for name in wanted if name not in left_out), total, left_out)


def _prices(
    case: Case,
    settings: Settings,
    rates: Rates,
    lacking: Mapping[str, Iterable[Subject]],
    fits: Mapping[str, float],
) -> dict[str, float]:
    """Seconds of each job for the explanations that lack one of its checks; `fits` are those of their explainers."""
    found = {}
    for job in {job_of(name) for name in settings.checks}:
        names = {s.name for check, some in lacking.items() if job_of(check) == job for s in some}
        rest = tuple(s for s in case.subjects if s.name in names)
        own = replace(rates, fitting=sum(fits.get(name, 0.0) for name in names))
        found[job] = costs(replace(case, subjects=rest), settings, own)[job] if rest else 0.0
    return found


def costs(case: Case, settings: Settings, rates: Rates) -> dict[str, float]:
    """Seconds of each job for all explanations and controls together."""
    n, pool = len(case.target), len(case.train.target)
    everyone = [*case.subjects, *(s for s in case.subjects if s.train is None)]  # and random units like these
    judge = rates.lesson * pool * _epochs()
    answer = rates.answer * _versions(case)
    paired = rates.lesson * _epochs() * sum(_learned(s, n, pool) for s in everyone) / len(everyone)
    explained = sum(s.seconds for s in case.subjects if s.seconds == s.seconds)  # one row by all that can be asked

    def seconds(work: Work) -> float:
        taught = judge * (work.judges + FRESH * (work.networks + work.retrained + work.copies)) + paired * work.pairs
        asked = answer * work.answers + explained * (work.moved + work.astray)
        again = work.refits * (rates.fitting + explained * n) if work.refits else 0.0
        return taught + asked + FOREST * work.forests + again

    known = planned(Size(n, len(everyone), case.data.kind), settings.checks, settings.light or ())
    usual = {
        name: Work(networks=len(everyone)) if CHECKS[name].costly else Work(answers=n * len(everyone))
        for name in settings.checks
    }
    every = {job_of(name): work for name, work in usual.items()} | known
    slow = {"judges of random masks": OF_TEXTS} if case.data.kind in ("words", "sentences") else {}
    return {job: slow.get(job, 1.0) * seconds(work) for job, work in every.items()}


def _learned(subject: Subject, n: int, pool: int) -> int:
    """Rows that a judge of its masks learns from; where it came ready-made, those of all folds together."""
    if subject.train is not None:
        return pool
    spare = 0 if subject.spare is None else len(subject.spare.target)
    return FOLDS * (n * (FOLDS - 2) // FOLDS + spare)


def _epochs() -> int:
    return min(EPOCHS, RECIPE.epochs)


def _versions(case: Case) -> int:
    """How many versions of a row its removal draws."""
    return sum(1 for _ in case.removal.versions(case.x[:1], case.valid[:1]))


def _measured(case: Case) -> Rates:
    rows = case.x[:SAMPLE]
    answer = _timed(lambda: case.model(rows)) / len(rows)
    _lesson(case)  # the first training of a process loads what all others then have
    lesson = _timed(lambda: _lesson(case)) / len(case.train.target)
    return Rates(answer, lesson, fitting=0.0)


def _fits(case: Case, settings: Settings, lacking: Mapping[str, Iterable[Subject]], end: float) -> dict[str, float]:
    """Explanation -> seconds to fit its explainer once more, where a check does: as it remembers, or as is measured.

    Nothing is measured after `end`: nobody knows then how long it takes, and no check that fits again has the time.
    """
    known = planned(Size(len(case.target), len(case.subjects), case.data.kind), settings.checks, settings.light or ())
    again = [name for name in settings.checks if known.get(job_of(name), Work()).refits]
    found = {}
    for name, explainer in {s.name: s.explainer for check in again for s in lacking[check]}.items():
        if explainer is None or explains_itself(explainer) or name in CONTROLS:
            continue  # it is not fitted again, or in no time
        seconds = getattr(explainer, "seconds_", None)
        if seconds is None:
            seconds = _trial(case, explainer) if time.perf_counter() < end else math.inf
        found[name] = float(seconds)
    return found


def _trial(case: Case, explainer: Any) -> float:
    """Seconds to fit a copy; of what learns epoch by epoch one is measured, and as many counted as it may take."""
    copy, epochs = explainer.clone(), 1
    if isinstance(getattr(copy, "recipe", None), Recipe):
        copy, epochs = replace(copy, recipe=replace(copy.recipe, epochs=1)), copy.recipe.epochs

    def fit() -> None:
        with seeds.seeded(case.seed), warnings.catch_warnings(), contextlib.suppress(UnmaskError):
            warnings.simplefilter("ignore", UnmaskWarning)
            copy.fit(case.model, case.data)

    return epochs * _timed(fit)


def _lesson(case: Case) -> None:
    """One epoch of a judge."""
    net = judge_net(case.reader, len(case.data.classes), case.seed)
    train_judge(net, case.train, case.validation, mixed_sizes(case.k), replace(RECIPE, epochs=1))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
