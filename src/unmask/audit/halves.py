"""Does a part of the selection smuggle, behind the back of the other part?

A few honest units make any code respectable: the values shown are read well, so the choice is forgiven. Here each half
of the kept units, those with the higher and those with the lower scores, is looked at alone; what is reported is the
half of which more is told by the choice. Where up to half of the units are honest and stand before the code or behind
it, one half is all code. Honest units that take turns with those of a code, score by score, are not found out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from unmask.audit.case import Case, Subject, Values, digest, missing
from unmask.audit.evidence import SHARE_LIMIT
from unmask.audit.smuggling import encoding, entropy, told_by_values
from unmask.audit.statistics import level
from unmask.masking import subsets
from unmask.types import Explanation

__all__ = ["half_gain", "half_reading", "half_share", "pairs"]

PAIRS = 1  # of judges for each half: a code is all that its half tells, which one pair sees
FEW, MORE = 200, 3  # but of few rows what one pair sees is luck as well: so many rows or fewer have more pairs, unless
# they are cross-fitted, where there are several pairs anyway
SURE = 0.5  # of the answer, told by the choice: hardly luck of one pair. What is less and seems to be a code has MORE
# pairs (rare words of reviews: .13 of the answer by one pair, .05 by three)
LEAST = 0.2  # of the answer, counted as told at least: so a code has to tell a twentieth of the answer, that is
# SHARE_LIMIT of this, more than random units seem to (rare words of reviews tell about that by their choice)
SINGLE = "keeps no more than one unit, which has no halves"


def half_gain(case: Case, subject: Subject) -> Values:
    """The encoding gain of that half of the kept units, taken alone, of which more is told by the choice."""
    return _of_half(case, subject, lambda case, half: Values(_told(case, half)[0]))


def half_share(case: Case, subject: Subject) -> Values:
    """The encoding share of the same half; one that tells little counts as if it told a fifth of the answer.

    Its choice tells no more of that than all that is told: where a judge who does not know the choice is misled by the
    values, as by the smaller one of two large ones, the other gains on it and still knows nothing.
    """
    return _of_half(case, subject, _share)


def half_reading(case: Case, subject: Subject) -> Values:
    """What the same half tells judges of random masks by its values, in nats."""
    return _of_half(case, subject, told_by_values)


def pairs(rows: int) -> int:
    """How many pairs of judges look at each half, unless what they see leaves doubt."""
    return MORE if rows <= FEW else PAIRS


def _pairs(case: Case, half: Subject) -> int:
    return PAIRS if half.train is None else pairs(len(case.target))


def _told(case: Case, half: Subject) -> tuple[Tensor, Tensor]:
    return case.once(("encoding of a half", half.key), lambda: _looked_at(case, half))


def _looked_at(case: Case, half: Subject) -> tuple[Tensor, Tensor]:
    """(n,) gain and total of a half, by more pairs of judges where the first seem to see a code that tells little."""
    first = _pairs(case, half)
    seen = encoding(case, half, range(first))
    if first == MORE or not _doubtful(case, half, *seen):
        return seen
    again = encoding(case, half, range(first, MORE))
    gain, total = ((a * first + b * (MORE - first)) / MORE for a, b in zip(seen, again, strict=True))
    return gain, total


def _doubtful(case: Case, half: Subject, gain: Tensor, total: Tensor) -> bool:
    """Whether it seems a code, since its values tell little, and one that luck could have made."""
    told, read = (level(values) / entropy(case) for values in (gain, told_by_values(case, half).values))
    return told < SURE and read < LEAST and level(gain, _over(case, total)) > SHARE_LIMIT


def _share(case: Case, half: Subject) -> Values:
    gain, total = _told(case, half)
    over = _over(case, total)
    if over is total:
        return Values(gain, over=over)
    told, most = level(gain), max(0.0, level(total))
    gain = gain * (most / told) if told > most else gain
    return Values(gain, over=over, note=f"tells little: {LEAST:.0%} of the answer is taken as told")


def _over(case: Case, total: Tensor) -> Tensor:
    """What a gain is a share of: all that is told, or LEAST of the answer where that is more."""
    return max(total, torch.full_like(total, LEAST * entropy(case)), key=level)


def _of_half(case: Case, subject: Subject, measure: Callable[[Case, Subject], Values]) -> Values:
    if int(subject.kept.sum(1).max()) < 2:
        return missing(case, SINGLE)
    told = (e.scores for e in (subject.explanation, subject.train, subject.validation) if e is not None)
    return measure(case, case.once(("half", subject.key, digest(*told)), lambda: _suspect(case, subject)))


def _suspect(case: Case, subject: Subject) -> Subject:
    """The half with the higher share."""

    def share(half: Subject) -> float:
        found = _share(case, half)
        return level(found.values, found.over)

    return max((_half(subject, upper) for upper in (True, False)), key=share)


def _half(subject: Subject, upper: bool) -> Subject:
    """The `upper` half of the kept units by their scores, or the other one; the middle one is in both."""

    def of(e: Explanation | None) -> Explanation | None:
        return None if e is None else replace(e, kept=_part(e.scores, e.kept, upper))

    own = replace(subject.explanation, kept=_part(subject.explanation.scores, subject.kept, upper))
    # rows beside the audited ones are known by what was kept, not by scores
    return replace(subject, explanation=own, spare=None, train=of(subject.train), validation=of(subject.validation))


def _part(scores: Tensor, kept: Tensor, upper: bool) -> Tensor:
    many = kept.sum(1)
    return subsets.topk(scores, (many + 1) // 2, kept) if upper else kept & ~subsets.topk(scores, many // 2, kept)
