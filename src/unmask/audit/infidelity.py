"""Do the scores add up to what hiding units does to the answer?"""

from __future__ import annotations

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Case, Subject, Values, placed, some
from unmask.masking import subsets
from unmask.models import shown
from unmask.types import rows_of

__all__ = ["ROWS", "SAMPLES", "infidelity", "infidelity_raw", "misfit"]

FEW = 24  # units: of so many the same ones are often removed twice
ROWS = 100  # of the audited ones, at most
SAMPLES = 100  # changes of each row; the same for all explanations, so the model is asked once for all of them


def infidelity(case: Case, subject: Subject) -> Values:
    """E_I (b I . scores - (p(target | x) - p(target | x without I)))^2, b the factor that fits best; lower is better.

    Law of I: a number of units drawn evenly from 1 to all, then as many units at random; I marks them. With the factor
    b = E(df I . scores) / E(I . scores)^2 of each row, as in the published code, the scale of scores does not matter,
    nor does their sign: `infidelity-raw` minds both. Yeh et al. 2019.
    """
    return _measured(case, subject, scaled=True)


def infidelity_raw(case: Case, subject: Subject) -> Values:
    """The same with b = 1, as the paper writes it; small only for scores in units of probability. Yeh et al. 2019."""
    return _measured(case, subject, scaled=False)


def misfit(scores: Tensor, removed: Tensor, lost: Tensor, scaled: bool) -> Tensor:
    """(n,) mean over draws of (b told - lost)^2; scores (n, d), removed (n, m, d), lost (n, m)."""
    told = torch.einsum("nmd,nd->nm", removed.double(), scores.double())
    b = torch.ones(len(told), dtype=torch.double)
    if scaled:
        size = told.square().mean(1)
        b = torch.where(size > 0, (lost * told).mean(1) / size, 0.0)  # scores of 0 tell nothing at any scale
    return (b[:, None] * told - lost).square().mean(1)


def _measured(case: Case, subject: Subject, scaled: bool) -> Values:
    index = some(case, ROWS)
    removed, lost = case.once("units removed at random", lambda: _drawn(case, index))
    found = misfit(subject.explanation.scores[index], removed, lost, scaled)
    note = f"{SAMPLES} sets of units removed at random from each of {len(index)} rows, a number even from 1 to all"
    return Values(placed(case, index, found), note=note)


def _drawn(case: Case, index: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, samples, d) units removed, and (rows, samples) what the answer lost without them."""
    rows = index.repeat_interleave(SAMPLES)
    removed = subsets.any_size(case.valid[rows], seeds.generator(seeds.derive(case.seed, "infidelity")))
    kept = case.valid[rows] & ~removed
    ask, which = _distinct(rows, kept)
    said = shown(case.model, case.removal, rows_of(case.x, rows[ask]), kept[ask])[which]
    lost = case.said[rows] - said.gather(1, case.target[rows, None])[:, 0]
    return removed.view(len(index), SAMPLES, -1), lost.view(len(index), SAMPLES).double()


def _distinct(rows: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of draws to ask about, and of which of them each draw is the same; of many units few are."""
    d, every = kept.shape[1], torch.arange(len(kept))
    if d > FEW:
        return every, every
    code = (rows << d) + (kept.long() << torch.arange(d)).sum(1)
    _, which = code.unique(return_inverse=True)
    first = torch.full((int(which.max()) + 1,), len(kept)).scatter_reduce(0, which, every, "amin")
    return first, which
