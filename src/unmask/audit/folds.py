"""What judges of one explanation learn from, stop on and judge, and what they see of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Case, Subject
from unmask.judge import Rows
from unmask.types import Explanation

__all__ = ["FOLDS", "Fold", "by_lot", "cross_fitting", "folds", "masks", "order"]

FOLDS = 5  # cross-fitting where only the audited rows have an explanation


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, to stop on and to judge; `index` are the judged rows' places among the audited ones."""

    train: Rows
    validation: Rows
    test: Rows
    index: Tensor


def folds(case: Case, subject: Subject, told: Callable[[Explanation], Tensor] = attrgetter("kept")) -> list[Fold]:
    """Training rows where the explainer could be asked about them, otherwise cross-fitting on the audited rows.

    `told`: (n, d) what judges see of an explanation.
    """
    audited = Rows(case.prepared, case.target, case.valid, told(subject.explanation))
    if subject.train is not None and subject.validation is not None:
        train = replace(case.train, kept=told(subject.train))
        validation = replace(case.validation, kept=told(subject.validation))
        return [Fold(train, validation, audited, torch.arange(len(case.target)))]
    spare = None if told is order else subject.spare  # spare rows have no scores
    return [
        Fold(audited.at(learn).joined(spare), audited.at(stop), audited.at(part), part)
        for learn, stop, part in cross_fitting(case)
    ]


def cross_fitting(case: Case) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Places among the audited rows to learn from, to stop on and to judge; every row is judged once."""
    drawn = torch.randperm(len(case.target), generator=seeds.generator(seeds.derive(case.seed, "folds")))
    parts = list(drawn.chunk(FOLDS))
    for i, part in enumerate(parts):
        stop = (i + 1) % len(parts)
        yield torch.cat([p for j, p in enumerate(parts) if j not in (i, stop)]), parts[stop], part


def masks(rows: Rows) -> Tensor:
    """The masks of rows that must carry their own."""
    if rows.kept is None:
        raise TypeError("these rows carry no masks")
    return rows.kept


def order(e: Explanation) -> Tensor:
    """(n, d) in (0, 1] for kept units, 1 for the highest score and 1/k for the lowest; 0 for all others."""
    return _places(e.scores, e.kept)


def by_lot(rows: Rows, rng: torch.Generator) -> Tensor:
    """The same kept units, their order drawn by lot."""
    return _places(torch.rand(rows.valid.shape, generator=rng), masks(rows) > 0)


def _places(scores: Tensor, kept: Tensor) -> Tensor:
    low_first = scores.masked_fill(~kept, -torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
    many = kept.sum(1, keepdim=True)
    return (low_first - kept.shape[1] + many + 1).clamp(min=0) / many.clamp(min=1)
