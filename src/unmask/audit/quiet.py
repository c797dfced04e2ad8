"""Does a part of the selection smuggle, behind the back of the other part?

A few honest units make any code respectable: the values shown are read well, so the choice is forgiven. Here the kept
units that say little about the answer on their own, the quieter half of all units, are looked at alone. Whether a unit
is quiet is settled beforehand, for a column or pixel by its place and for a word by itself: a choice that tells nothing
tells nothing of its quiet units either.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from unmask.audit.case import Case, Subject, Values
from unmask.audit.smuggling import encoding_share, told_by_values
from unmask.data.telling import of_units, telling
from unmask.types import Explanation

__all__ = ["quiet_reading", "quiet_share"]


def quiet_share(case: Case, subject: Subject) -> Values:
    """The encoding share of the quiet units among the kept ones, taken alone."""
    return encoding_share(case, _part(case, subject))


def quiet_reading(case: Case, subject: Subject) -> Values:
    """What the quiet units among the kept ones tell judges of random masks by their values, in nats."""
    return told_by_values(case, _part(case, subject))


def _part(case: Case, subject: Subject) -> Subject:
    """The same explanation with its quiet units only, on all its rows."""
    return case.once(("quiet", subject.key), lambda: _parted(case, subject))


def _parted(case: Case, subject: Subject) -> Subject:
    def quieter(e: Explanation | None, x: Tensor) -> Explanation | None:
        return None if e is None else replace(e, kept=e.kept & _quiet(case, x))

    train, validation = quieter(subject.train, case.train.x), quieter(subject.validation, case.validation.x)
    own = replace(subject.explanation, kept=subject.kept & _quiet(case, case.prepared))
    spare = subject.spare
    if spare is not None and spare.kept is not None:
        spare = replace(spare, kept=spare.kept & _quiet(case, spare.x))
    return replace(subject, explanation=own, spare=spare, train=train, validation=validation)


def _quiet(case: Case, x: Tensor) -> Tensor:
    """(n, d) which units of prepared rows are among the quieter half of all units, by what they tell on their own."""
    tells, middle = case.once("telling", lambda: _told(case))
    return of_units(case.reader, tells, x) <= middle


def _told(case: Case) -> tuple[Tensor, float]:
    """What each column, pixel or word tells by itself on the judges' rows, and the middle over all units there are."""
    rows = case.train
    tells = telling(case.reader, rows.x, rows.target, len(case.data.classes))
    return tells, float(of_units(case.reader, tells, rows.x)[rows.valid].median())
