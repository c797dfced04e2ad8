"""Could masks that have nothing to do with their rows gain as much? A permutation test, judges trained anew."""

from __future__ import annotations

from dataclasses import replace

import torch

from unmask import seeds
from unmask.audit.case import Case, Subject, Values
from unmask.audit.smuggling import encoding
from unmask.audit.transplant import permuted
from unmask.judge import Rows
from unmask.types import Explanation

__all__ = ["PAIRS", "TIMES", "encoding_p"]

TIMES = 19  # exchanges, so that one gain above all of them has p = 1/20
PAIRS = 1  # of judges for each


def encoding_p(case: Case, subject: Subject) -> Values:
    """(1 + exchanges that gain as much) / (1 + TIMES): in each, all masks are given to other rows and both judges of
    the encoding gain are trained anew, one pair each time. One number, the same for every row, with no interval.

    Rows share their judges, so that a test which only changes signs of the rows' gains would call luck of a judge sure.
    """
    own = _gain(case, subject)
    if own == 0:  # the same units in every row: an exchange changes nothing
        return Values(torch.ones(len(case.target)), note="the same units in every row")
    chance = [_gain(case, _exchanged(subject, seeds.derive(case.seed, "exchanged", i))) for i in range(TIMES)]
    p = (1 + sum(gain >= own for gain in chance)) / (1 + TIMES)
    note = f"gain by one pair of judges {own:.3f} nats, after {TIMES} exchanges {min(chance):.3f} to {max(chance):.3f}"
    return Values(torch.full((len(case.target),), p), note=note)


def _gain(case: Case, subject: Subject) -> float:
    return float(encoding(case, subject, range(PAIRS))[0].double().mean())


def _exchanged(subject: Subject, seed: int) -> Subject:
    """The same masks, each on another row, of all rows that judges are to see."""
    rng = seeds.generator(seed)

    def of(e: Explanation) -> Explanation:
        return replace(e, kept=permuted(e.kept, e.valid, rng))

    def spare(rows: Rows | None) -> Rows | None:
        if rows is None or rows.kept is None:
            return rows
        return replace(rows, kept=permuted(rows.kept, rows.valid, rng))

    return replace(
        subject,
        explanation=of(subject.explanation),
        train=None if subject.train is None else of(subject.train),
        validation=None if subject.validation is None else of(subject.validation),
        spare=spare(subject.spare),
    )
