"""What to look at: rows, the same two for every explanation and each one's best and worst; where attention looks in
them; where in a text the choices stand; how a model that explains itself learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from unmask import distances, seeds
from unmask.audit.case import Case, Subject
from unmask.audit.locked import explains_itself
from unmask.audit.looking import noise_of, see
from unmask.errors import UnmaskError
from unmask.heat import Heat
from unmask.models.attending import shaken
from unmask.types import Example

__all__ = ["examples", "heats", "learning", "places"]

COMMON = 2
DRAWS = 5  # of noise on word vectors under which attention is drawn
WIDE = 20  # words of a row that are drawn, at most: the heaviest
ORDINALS = 12  # units that a row may have at most if its places are counted one by one
PARTS = 10  # of a longer row


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
    full = float(case.said[i])
    note = f"the model's probability: {full:.2f} on the whole row, {said:.2f} on what is kept"
    row = subject.explanation.row(i)
    if case.relevant is None or not case.data.layout.is_text:
        return Example(subject.name, label, row, note)
    marked = case.relevant[i][case.valid[i]].tolist()
    both = sum(kept and mark for kept, mark in zip(row.kept, marked, strict=True))
    note += f"; of the {sum(marked)} {row.kind} that people marked, {both} are among the {sum(row.kept)} kept"
    return Example(subject.name, label, replace(row, marked=marked), note)


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
        drawn_from = (seeds.derive(case.seed, "heat", draw) for draw in range(DRAWS))
        moved = [shaken(s.model, x, seed, noise_of(s), s.valid[index])[1] for seed in drawn_from]
    except UnmaskError:
        return []
    drawn = torch.stack([s.w[index], *moved], 1)  # (rows, lines, d)
    rows, far = enumerate(zip(index.tolist(), drawn, strict=True), 1), noise_of(s)
    return [_heat(case, i, lines, number, far) for number, (i, lines) in rows]


def _heat(case: Case, i: int, lines: torch.Tensor, number: int, far: float) -> Heat:
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
        note=f"{part}mean JSD {float(apart.mean()):.4f} under uniform noise of {far:.2g} on word vectors",
    )


def places(case: Case) -> dict[str, dict[str, float]]:
    """Explanation -> place in a text -> share of all units it chose that stand there; "people": of those they marked.

    Only where somebody marked the units that decide, or where a model explains itself; empty for other audits.
    """
    told = case.relevant is not None or any(explains_itself(s.explainer) for s in case.subjects)
    if not case.data.layout.is_text or not told:
        return {}
    names, bins = _bins(case.valid, case.data.kind == "sentences")
    chosen = {} if case.relevant is None else {"people": case.relevant}
    chosen |= {s.name: s.kept for s in case.subjects}
    found = {}
    for who, marks in chosen.items():
        counts = torch.bincount(bins[marks & case.valid], minlength=len(names)).double()
        found[who] = dict(zip(names, (counts / counts.sum().clamp(min=1)).tolist(), strict=True))
    return found


def _bins(valid: Tensor, one_by_one: bool) -> tuple[list[str], Tensor]:
    """Names of places, and (n, d) the place of each unit: its number, or in which tenth of its row it stands."""
    at = torch.arange(valid.shape[1]).expand(valid.shape)
    if one_by_one and valid.shape[1] <= ORDINALS:
        return [str(place + 1) for place in range(valid.shape[1])], at
    length = valid.sum(1, keepdim=True).clamp(min=1)
    return [f"{100 * part // PARTS}%" for part in range(PARTS)], (PARTS * at // length).clamp(max=PARTS - 1)


def learning(case: Case) -> dict[str, dict[str, list[float]]]:
    """Explanation -> after each epoch: how often it was right on validation rows, and had the first unit."""
    found = {}
    for subject in case.subjects:
        curve = getattr(subject.explainer, "curve_", None) if explains_itself(subject.explainer) else None
        if curve:
            found[subject.name] = {name: [float(epoch[name]) for epoch in curve] for name in ("accuracy", "first")}
    return found
