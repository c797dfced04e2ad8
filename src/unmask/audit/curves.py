"""Is it enough, is it needed, however many units are asked for? Units shown or hidden in the order of the scores."""

from __future__ import annotations

import torch
from torch import Tensor

from unmask.audit.case import Case, Subject, Values, digest, some
from unmask.masking import subsets
from unmask.models import shown
from unmask.types import rows_of

__all__ = ["ANSWERS", "BINS", "ROWS", "STEPS", "aopc_comprehensiveness", "aopc_sufficiency", "deletion", "insertion"]

BINS = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of a row's units, as published
STEPS = tuple(i / 10 for i in range(11))  # of a curve from nothing to everything
ROWS = 100  # of the audited ones, at most: each is asked about many times
ANSWERS = 2 * len({*BINS, *STEPS} - {1.0})  # for each row of an explanation, at most: the whole row is known


def aopc_sufficiency(case: Case, subject: Subject) -> Values:
    """Mean over q in BINS of p(target | x) - p(target | the best q of the units only); lower is better.

    Area over the perturbation curve, bins 1, 5, 10, 20 and 50% of a row's units, rounded up. DeYoung et al. 2020.
    """
    return _lost(case, subject, hidden=False)


def aopc_comprehensiveness(case: Case, subject: Subject) -> Values:
    """Mean over q in BINS of p(target | x) - p(target | all but the best q of the units); higher is better.

    The same bins as for sufficiency. DeYoung et al. 2020.
    """
    return _lost(case, subject, hidden=True)


def insertion(case: Case, subject: Subject) -> Values:
    """Area under p(target) as units are shown, best first, from none to all by tenths; higher is better.

    Trapezoid rule, the axis of length 1. Petsiuk et al. 2018.
    """
    return _area(case, subject, hidden=False)


def deletion(case: Case, subject: Subject) -> Values:
    """Area under p(target) as units are hidden, best first, from none to all by tenths; lower is better.

    Trapezoid rule, the axis of length 1. Petsiuk et al. 2018.
    """
    return _area(case, subject, hidden=True)


def _lost(case: Case, subject: Subject, hidden: bool) -> Values:
    index, said = _asked(case, subject, hidden, BINS)
    lost = case.said[index] - said
    return _curve(case, index, BINS, lost, lost.mean(0))


def _area(case: Case, subject: Subject, hidden: bool) -> Values:
    index, said = _asked(case, subject, hidden, STEPS)
    return _curve(case, index, STEPS, said, torch.trapezoid(said, dx=1 / (len(STEPS) - 1), dim=0))


def _curve(case: Case, index: Tensor, shares: tuple[float, ...], points: Tensor, values: Tensor) -> Values:
    found = torch.full((len(shares) + 1, len(case.target)), torch.nan)
    *curve, whole = found.index_copy_(1, index, torch.cat([points, values[None]]))
    return Values(whole, curve=dict(zip(shares, curve, strict=True)))


def _asked(case: Case, subject: Subject, hidden: bool, shares: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Numbers of the rows, and (shares, rows) p(target) when this share of the units is shown, or hidden.

    The model is asked only what no other check has asked: `said` holds its answers by row and number of units.
    """
    index = some(case, ROWS)
    scores = subject.explanation.scores[index]
    whose = digest(scores)  # of these rows only: all of them take as long as the sums
    valid, full = case.valid[index], case.said[index]
    many = subsets.share_of(torch.tensor(shares, dtype=torch.double)[:, None], valid)  # (shares, rows)
    said = case.once(("curve", hidden, whose), lambda: _known(valid, full, hidden))
    unknown = torch.zeros_like(said, dtype=torch.bool).scatter_(1, many.T, True) & said.isnan()
    row, count = unknown.nonzero(as_tuple=True)
    if len(row):
        place = case.once(("places", whose), lambda: subsets.places(scores, valid))
        place, most, there = place[row], count[:, None], index[row]
        kept = (place >= most) & valid[row] if hidden else place < most
        answers = shown(case.model, case.removal, rows_of(case.x, there), kept)
        said.masked_scatter_(unknown, answers.gather(1, case.target[there, None]))  # row by row, as they were asked
    return index, said.gather(1, many.T).T


def _known(valid: Tensor, full: Tensor, hidden: bool) -> Tensor:
    """(rows, d + 1) p(target) by the number of units shown, or hidden: that of the whole row, nan for all others."""
    said = torch.full((len(valid), valid.shape[1] + 1), torch.nan)
    whole = torch.zeros_like(full, dtype=torch.long) if hidden else valid.sum(1)
    return said.scatter_(1, whole[:, None], full[:, None])
