"""Rows to look at: the same two for every explanation, each one's best and worst, and where attention looks in them."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from unmask import distances, seeds
from unmask.audit.case import Case, Subject
from unmask.audit.looking import see
from unmask.errors import UnmaskError
from unmask.heat import Heat
from unmask.models.attending import RADIUS, shaken
from unmask.types import Example

__all__ = ["examples", "heats"]

COMMON = 2
DRAWS = 5  # of noise on word vectors under which attention is drawn
WIDE = 20  # words of a row that are drawn, at most: the heaviest


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


def heats(case: Case) -> list[Heat]:
    """Where the model looks in the common rows, and where under noise on its word vectors (Figure 1 of SEAT).

    None where the model has no attention over words, or no word vectors that can be moved.
    """
    s = case.once("attention", lambda: see(case))
    if isinstance(s, str) or case.data.kind != "words":
        return []
    index = torch.tensor(_common(case))
    x = s.x[index.to(s.x.device)]
    try:
        moved = [shaken(s.model, x, seeds.derive(case.seed, "heat", draw))[1] for draw in range(DRAWS)]
    except UnmaskError:
        return []
    drawn = torch.stack([s.w[index], *moved], 1)  # (rows, lines, d)
    return [
        _heat(case, i, lines, number + 1) for number, (i, lines) in enumerate(zip(index.tolist(), drawn, strict=True))
    ]


def _heat(case: Case, i: int, lines: torch.Tensor, number: int) -> Heat:
    words = case.x[i]
    shown = lines[0, : len(words)].topk(min(WIDE, len(words))).indices.sort().values
    apart = distances.jsd(lines[:1].expand(DRAWS, -1), lines[1:], case.valid[i].expand(DRAWS, -1))
    part = f"the {WIDE} heaviest of {len(words)} words; " if len(words) > WIDE else ""
    names = ["as it is", *(f"noise {draw + 1}" for draw in range(DRAWS))]
    weights = (tuple(round(w, 4) for w in line[shown].tolist()) for line in lines)
    return Heat(
        explanation="attention",
        label=f"row {number}, the model says {case.data.classes[int(case.target[i])]}",
        words=tuple(words[t] for t in shown.tolist()),
        lines=tuple(zip(names, weights, strict=True)),
        note=f"{part}mean JSD {float(apart.mean()):.4f} under uniform noise of {RADIUS} on word vectors",
    )
