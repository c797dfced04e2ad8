"""Which checks fit into the time there is: what each needs, by what one answer and one judge were measured to take.

An estimate, no promise: judges stop when they stop learning. The checks that a verdict rests on are always run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from unmask.audit import CHECKS, DECIDING
from unmask.audit.case import Case, Subject
from unmask.audit.folds import FOLDS
from unmask.audit.subjects import Settings
from unmask.audit.work import Size, Work, job_of, planned
from unmask.errors import InputError
from unmask.judge import RECIPE, judge_net, mixed_sizes, train_judge

__all__ = ["Plan", "Rates", "plan", "seconds_of", "within"]

EPOCHS = 20  # after which a judge has usually stopped, of the 60 it may take
OF_TEXTS = 3.0  # a judge that has yet to learn what words mean takes so many times as long (measured: 9 s to 3 s)
FRESH = 3.0  # a network trained anew takes as long as so many judges
FOREST = 0.3  # seconds to grow one and ask it
SAMPLE = 64  # rows that the model is asked about to measure it
WRITING = 3.0  # seconds for intervals, examples and the page


@dataclass(frozen=True)
class Rates:
    """Measured: seconds for one answer of the model, for a judge to learn one row once, and for fitting so far."""

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
            said += ", left out: " + ", ".join(f"{name} (about {s:.0f} s)" for name, s in self.left_out.items())
        return said


def seconds_of(text: str) -> float:
    """ "60s", "5m", "1.5h" or a bare number of seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text.strip())
    seconds = float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise InputError(f"a budget is a time such as 60s, 5m or 1h, got {text!r}")
    return seconds


def within(case: Case, settings: Settings, say: Callable[[str], None]) -> tuple[Settings, Plan | None]:
    """The settings with the checks that fit into what is left of the budget, and the plan, which is said."""
    if settings.budget is None:
        return settings, None
    rates = _measured(case, time.perf_counter() - settings.begun)
    left = settings.budget - (time.perf_counter() - settings.begun) - WRITING
    found = plan(settings.checks, costs(case, settings, rates), left)
    say(found.sentence(settings.budget))
    if found.seconds > left:
        say(f"that is more than the {max(left, 0):.0f} s left: the checks that a verdict needs are run all the same")
    return replace(settings, checks=found.checks), found


def plan(checks: Iterable[str], cost: Mapping[str, float], left: float) -> Plan:
    """The deciding checks, then the others from the cheapest to the dearest, as long as they fit."""
    wanted = list(checks)
    first = [name for name in wanted if name in DECIDING]
    done, total, left_out = set[str](), 0.0, {}
    rest = sorted((name for name in wanted if name not in DECIDING), key=lambda name: cost[job_of(name)])
    for name in [*first, *rest]:
        more = 0.0 if job_of(name) in done else cost[job_of(name)]
        if name not in first and total + more > left and more > 0:
            left_out[name] = more
            continue
        done.add(job_of(name))
        total += more
    return Plan(tuple(name for name in wanted if name not in left_out), total, left_out)


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
        return taught + asked + FOREST * work.forests + rates.fitting * work.refits

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


def _measured(case: Case, spent: float) -> Rates:
    rows = case.x[:SAMPLE]
    answer = _timed(lambda: case.model(rows)) / len(rows)
    _lesson(case)  # the first training of a process loads what all others then have
    lesson = _timed(lambda: _lesson(case)) / len(case.train.target)
    return Rates(answer, lesson, spent)


def _lesson(case: Case) -> None:
    """One epoch of a judge."""
    net = judge_net(case.reader, len(case.data.classes), case.seed)
    train_judge(net, case.train, case.validation, mixed_sizes(case.k), replace(RECIPE, epochs=1))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
