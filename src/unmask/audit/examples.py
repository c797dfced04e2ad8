"""Rows to look at: the same two for every explanation, and each one's best and worst."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from unmask.audit.case import Case, Subject
from unmask.types import Example

__all__ = ["examples"]

COMMON = 2


def examples(case: Case) -> Iterator[Example]:
    """Rows shared by all explanations, of different classes, then for each the rows it explains best and worst."""
    for number, i in enumerate(_common(case)):
        for subject in case.subjects:
            yield _example(case, subject, i, f"row {number + 1}, all explanations")
    for subject in case.subjects:
        enough = case.pick(case.shown(subject.kept))
        yield _example(case, subject, int(enough.argmax()), "best of its rows")
        yield _example(case, subject, int(enough.argmin()), "worst of its rows")


def _common(case: Case) -> list[int]:
    """The first rows of the most frequent classes."""
    counts = torch.bincount(case.target)
    classes = counts.argsort(descending=True, stable=True)[: min(COMMON, int((counts > 0).sum()))]
    return [int((case.target == c).nonzero()[0]) for c in classes]


def _example(case: Case, subject: Subject, i: int, label: str) -> Example:
    said = float(case.pick(case.shown(subject.kept))[i])
    full = float(case.pick(case.full)[i])
    note = f"the model's probability: {full:.2f} on the whole row, {said:.2f} on what is kept"
    return Example(subject.name, label, subject.explanation.row(i), note)
