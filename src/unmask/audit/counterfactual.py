"""What would change the answer? The fewest of the kept units that must take other values.

Only units that the explanation keeps may move, to values that they have in rows which the model answers otherwise. This
tells what the model's answer hangs on; it is no advice: nobody says that these units can be moved, or moved alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Case, Subject, Values, digest, placed, some
from unmask.types import Inputs, Layout, rows_of

__all__ = ["DONORS", "Edit", "counterfactual", "counterfactual_size", "search"]

DONORS = 4  # rows with another answer, whose values each unit may take
MOST = 10  # units that are edited, at most
CALLS = 40_000  # rows the model is asked about for one explanation, at most: fewer rows where more units are kept


@dataclass(frozen=True)
class Edit:
    """What was found for some rows: the rows as edited, which of their units, and whether the answer is another now."""

    x: Inputs
    said: Tensor  # (r, classes) the model's answers to them
    edited: Tensor  # (r, d) bool
    turned: Tensor  # (r,) bool


def counterfactual(case: Case, subject: Subject) -> Values:
    """1 where other values of kept units alone turn the answer, else 0; higher is better: the answer hangs on them.

    Greedy: at each step the one unit and value that take most from p(target), ten units at most.
    """
    index, found = _found(case, subject)
    turned = torch.where(_has_donors(case, index), found.turned.float(), torch.nan)
    return Values(placed(case, index, turned), note=_note(case, index))


def counterfactual_size(case: Case, subject: Subject) -> Values:
    """How many kept units must take other values to turn the answer, where that is found; lower is better.

    The same greedy search: an upper bound of the fewest.
    """
    index, found = _found(case, subject)
    size = torch.where(found.turned, found.edited.sum(1).float(), torch.nan)
    return Values(placed(case, index, size), note=_note(case, index))


def search(case: Case, index: Tensor, allowed: Tensor) -> Edit:
    """The greedy edit of the rows at `index` over their units `allowed` (r, d)."""
    x, target = rows_of(case.x, index), case.target[index]
    allowed = allowed & _has_donors(case, index)[:, None]
    donors = _donors(case, index)  # (r, DONORS) numbers of training rows
    found = Edit(x, case.full[index], torch.zeros_like(allowed), torch.zeros(len(index), dtype=torch.bool))
    for _ in range(min(MOST, int(allowed.sum(1).max()))):
        row, unit = (allowed & ~found.edited & ~found.turned[:, None]).nonzero(as_tuple=True)
        if not len(row):
            break
        found = _step(case, found, target, donors, (row, unit))
    return found


def _step(case: Case, now: Edit, target: Tensor, donors: Tensor, tried: tuple[Tensor, Tensor]) -> Edit:
    """Every unit that may still move takes the value of every donor; the best of them stays."""
    row, unit = (t.repeat_interleave(donors.shape[1]) for t in tried)
    donor = donors[tried[0]].flatten()
    before = rows_of(now.x, row)
    x = _taken(case, before, unit, donor)
    said = _answers(case, x, (before, now.said[row]), unit, donors.shape[1])
    lost = 1 - said.gather(1, target[row, None])[:, 0]
    lost = lost + (said.argmax(1) != target[row])  # what turns the answer goes before what does not
    best = torch.full((len(target),), -torch.inf).scatter_reduce(0, row, lost, "amax")
    at = torch.full((len(target),), len(row)).scatter_reduce(
        0, row, torch.where(lost == best[row], torch.arange(len(row)), len(row)), "amin"
    )
    rows = (at < len(row)).nonzero()[:, 0]
    picked = at[rows]
    answers, edited, turned = now.said.clone(), now.edited.clone(), now.turned.clone()
    answers[rows], edited[rows, unit[picked]] = said[picked], True
    turned[rows] = said[picked].argmax(1) != target[rows]
    return Edit(_put(now.x, rows, rows_of(x, picked)), answers, edited, turned)


def _answers(case: Case, x: Inputs, known: tuple[Inputs, Tensor], unit: Tensor, many: int) -> Tensor:
    """(t, classes) the model's answers to tries, `many` for each unit: of equal ones one is asked about, of those that
    changed nothing none, for their answers are `known`."""
    before, said = known
    first, changed = _alike(case.data.layout, x, before, unit, many)
    ask = ((first == torch.arange(len(unit))) & changed).nonzero()[:, 0]
    answers = said.clone()
    if len(ask):
        answers[ask] = case.model(rows_of(x, ask))
    return torch.where(changed[:, None], answers[first], said)


def _alike(layout: Layout, x: Inputs, before: Inputs, unit: Tensor, many: int) -> tuple[Tensor, Tensor]:
    """(t,) number of the first of a unit's tries that is the same, and whether it is another than before."""
    if isinstance(x, Tensor):
        places = _places(layout)[unit]
        now, was = (_values(rows, places) for rows in (x, before))
        tries = now.view(-1, many, now.shape[1])
        same = (tries[:, :, None] == tries[:, None]).all(-1) | torch.eye(many, dtype=torch.bool)
        first = same.int().argmax(2) + many * torch.arange(len(tries))[:, None]
        return first.flatten(), (now != was).any(1)
    seen: dict[tuple[int, str], int] = {}
    new = [repr(row[u]) for row, u in zip(x, unit.tolist(), strict=True)]
    firsts = [seen.setdefault((i // many, word), i) for i, word in enumerate(new)]
    changed = [word != repr(row[u]) for word, row, u in zip(new, before, unit.tolist(), strict=True)]
    return torch.tensor(firsts), torch.tensor(changed)


def _values(x: Tensor, at: Tensor) -> Tensor:
    """(t, values) what rows hold at places (t, m), those of one unit; all else is the same in all tries."""
    flat = x[:, None] if x.ndim == 2 else x.flatten(2)  # (t, channels, columns or pixels)
    return flat.gather(2, at[:, None].expand(-1, flat.shape[1], -1)).flatten(1)


def _places(layout: Layout) -> Tensor:
    """(d, most) columns or pixels of each unit; one of them several times where another unit has more."""
    owner = torch.tensor(layout.owner)
    size, order = torch.bincount(owner, minlength=layout.d), owner.argsort(stable=True)
    step = torch.arange(int(size.max())).expand(layout.d, -1)
    return order[(size.cumsum(0) - size)[:, None] + torch.minimum(step, size[:, None] - 1)]


def _taken(case: Case, x: Inputs, unit: Tensor, donor: Tensor) -> Inputs:
    """The rows, one unit of each with the value it has in its donor; of texts, any word or sentence of the donor."""
    layout, source = case.data.layout, case.pools["train"].split.x
    if not layout.is_text:
        kept = torch.ones(len(unit), layout.d, dtype=torch.bool)
        kept[torch.arange(len(unit)), unit] = False
        return torch.where(layout.spread(kept), x, source[donor])
    rng = seeds.generator(seeds.derive(case.seed, "words of donors", len(unit)))
    which = torch.rand(len(unit), generator=rng).tolist()
    rows = zip(x, unit.tolist(), donor.tolist(), which, strict=True)
    return [[*r[:u], source[g][int(w * len(source[g]))], *r[u + 1 :]] for r, u, g, w in rows]


def _put(x: Inputs, rows: Tensor, new: Inputs) -> Inputs:
    if isinstance(x, Tensor):
        return x.index_copy(0, rows, new)
    other = dict(zip(rows.tolist(), new, strict=True))
    return [other.get(i, row) for i, row in enumerate(x)]


def _donors(case: Case, index: Tensor) -> Tensor:
    """(r, DONORS) training rows that the model answers otherwise, drawn for each row; some twice where they are few.

    The rows stand in one random order; each audited row takes those that follow a place of its own.
    """
    said, rng = case.train.target, seeds.generator(seeds.derive(case.seed, "donors"))
    target, order = case.target[index], torch.randperm(len(case.train.target), generator=rng)
    start, found = torch.rand(len(index), 1, generator=rng), torch.empty(len(index), DONORS, dtype=torch.long)
    for c in target.unique():
        mine, other = target == c, order[said[order] != c]
        other = other if len(other) else order  # there are none, and these are not asked about
        found[mine] = other[((start[mine] * len(other)).long() + torch.arange(DONORS)) % len(other)]
    return found


def _has_donors(case: Case, index: Tensor) -> Tensor:
    """(r,) whether the model answers any training row otherwise."""
    seen = case.train.target.unique()
    found: Tensor = (seen != case.target[index][:, None]).any(1)
    return found


def _found(case: Case, subject: Subject) -> tuple[Tensor, Edit]:
    k = max(1, int(subject.kept.sum(1).max()))
    index = some(case, max(10, CALLS // (DONORS * k * min(k, MOST))))
    kept = subject.kept
    return index, case.once(("counterfactual", digest(kept)), lambda: search(case, index, kept[index]))


def _note(case: Case, index: Tensor) -> str:
    rows = f"{len(index)} of the rows; " if len(index) < len(case.target) else ""
    return f"{rows}only kept units could move, to values of rows with another answer; no advice what to do"
