"""Does a part of the selection smuggle, behind the back of the other part?

A few honest units make any code respectable: the values shown are read well, so the choice is forgiven. Here the half
of the units that says less is looked at alone. Which half that is, is a function of what is shown: it adds nothing.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.smuggling import encoding_share, eval_x, random_mask_judges
from unmask.judge import Judge, Rows
from unmask.masking import subsets
from unmask.types import Explanation

__all__ = ["weak_reading", "weak_share"]

BATCH = 512


def weak_share(case: Case, subject: Subject) -> Values:
    """The encoding share of the less telling half of the kept units, taken alone."""
    half = _half(case, subject)
    return missing(case, ONE) if half is None else encoding_share(case, half)


def weak_reading(case: Case, subject: Subject) -> Values:
    """1 where judges trained on random masks find the target in the less telling half of the kept units."""
    half = _half(case, subject)
    return missing(case, ONE) if half is None else eval_x(case, half)


ONE = "it keeps one unit, which has no halves"


def _half(case: Case, subject: Subject) -> Subject | None:
    """The same explanation with the weaker half of its units only, on all its rows."""
    if int(subject.kept.sum(1).max()) < 2:
        return None
    return case.once(("weak", subject.key), lambda: _halved(case, subject))


def _halved(case: Case, subject: Subject) -> Subject:
    judges = random_mask_judges(case)

    def weaker(e: Explanation | None, x: Tensor) -> Explanation | None:
        return None if e is None else replace(e, kept=_weaker(judges, x, e.kept))

    own = weaker(subject.explanation, case.prepared)
    train, validation = weaker(subject.train, case.train.x), weaker(subject.validation, case.validation.x)
    spare: Rows | None = subject.spare
    if spare is not None and spare.kept is not None:
        spare = replace(spare, kept=_weaker(judges, spare.x, spare.kept))
    return replace(subject, explanation=own, train=train, validation=validation, spare=spare)  # type: ignore[arg-type]


def _weaker(judges: list[Judge], x: Tensor, kept: Tensor) -> Tensor:
    """The half of the kept units, rounded down, that moves the judges' own answers least."""
    parts = zip(x.split(BATCH), kept.split(BATCH), strict=True)
    moved = torch.cat([sum((_moves(j, a, b) for j in judges), torch.zeros(b.shape)) for a, b in parts])
    return kept & ~subsets.topk(moved, (kept.sum(1) + 1) // 2, kept)


def _moves(judge: Judge, x: Tensor, kept: Tensor) -> Tensor:
    """|d log p(the judge's answer) / d unit|: how much its answer hangs on each unit, whichever way."""
    mask = kept.float().requires_grad_()
    judge.net.eval()
    best = judge.net(x, mask).log_softmax(1).amax(1).sum()
    return torch.autograd.grad(best, mask)[0].abs()
