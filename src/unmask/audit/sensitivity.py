"""How little it takes to turn the answer when only the words that are called important may move.

"On the Sensitivity and Stability of Model Interpretations in NLP", Yin et al. 2022.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.audit.case import Case, Subject, Values, missing
from unmask.errors import UnmaskError
from unmask.models import Wrapped
from unmask.models.attending import Shift, embedding_of
from unmask.training import soft_cross_entropy
from unmask.types import rows_of

__all__ = ["SHARES", "least", "sensitivity", "turned"]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of a row's words that may move
ROWS = 100  # of the audited ones, at most
STEPS = 20  # of an attack
HALVINGS = 10  # of the range in which the smallest radius lies
FAR = 8.0  # times what it takes with all words, at most
FIRST, DOUBLINGS = 0.25, 10  # radii that are tried for all words together

Answer = Callable[[Tensor], Tensor]
"""Change of the word vectors (n, words, e) -> raw answer (n, classes)."""


def sensitivity(case: Case, subject: Subject) -> Values:
    """The length of the smallest change of the important words' vectors that turns the answer; lower is better.

    Mean over the 10% to 50% most important words. Changes are sought by projected gradient ascent up to eight times
    what it takes when all words may move; rows that do not turn by then count with that.
    """
    model = case.model
    if not case.data.layout.is_text or not isinstance(model, Wrapped) or model.module is None:
        return missing(case, "only vectors of words of a model with gradients can be moved")
    index = torch.arange(min(ROWS, len(case.valid)))
    valid, target = case.valid[index], case.target[index]
    try:
        embedding, ids = embedding_of(model.module), model.feed(rows_of(case.x, index))
    except UnmaskError as error:
        return missing(case, str(error))
    if ids.shape != valid.shape:
        return missing(case, "the model does not read one vector for each word")

    module = model.module.eval()

    def answer(delta: Tensor) -> Tensor:
        with Shift(embedding, delta):
            return module(ids)  # type: ignore[no-any-return]

    with torch.no_grad(), Shift(embedding) as shift:
        module(ids)
    shape, scores = shift.delta.shape, subject.explanation.scores[index]
    cap = case.once("sensitivity of all words", lambda: _cap(answer, shape, valid, target))
    found = [least(answer, shape, _top(scores, share, valid), target, FAR * cap) for share in SHARES]
    values = torch.full((len(case.valid),), torch.nan)
    values[index] = torch.stack(found).mean(0)
    stuck = int(cap.isnan().sum())
    return Values(values, note=f"the first {len(index)} rows; {stuck} whose answer nothing turned are left out")


def _top(scores: Tensor, share: float, valid: Tensor) -> Tensor:
    """(n, d) the share of the words that score highest, at least one."""
    wanted = (share * valid.sum(1)).ceil().long().clamp(min=1)
    place = scores.masked_fill(~valid, -torch.inf).argsort(dim=1, descending=True, stable=True).argsort(1)
    return (place < wanted[:, None]) & valid


def _cap(answer: Answer, shape: torch.Size, valid: Tensor, target: Tensor) -> Tensor:
    """(n,) a radius at which all words together turn the answer, nan where none is found."""
    cap = torch.full((len(target),), torch.nan)
    for doubling in range(DOUBLINGS):
        radius = torch.full((len(target),), FIRST * 2.0**doubling)
        cap = torch.where(cap.isnan() & turned(answer, shape, valid, target, radius), radius, cap)
    return least(answer, shape, valid, target, cap)


def least(answer: Answer, shape: torch.Size, where: Tensor, target: Tensor, high: Tensor) -> Tensor:
    """(n,) the smallest radius up to `high` at which moving the words `where` is found to turn the answer."""
    low = torch.zeros_like(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        hit = turned(answer, shape, where, target, middle.nan_to_num())
        low, high = torch.where(hit, low, middle), torch.where(hit, middle, high)
    return high


def turned(answer: Answer, shape: torch.Size, where: Tensor, target: Tensor, radius: Tensor) -> Tensor:
    """(n,) whether a change of length `radius` at most, of the words `where` only, makes the answer another one."""
    delta, ball = torch.zeros(shape).requires_grad_(), radius[:, None, None]
    found = torch.zeros(len(target), dtype=torch.bool)
    said = answer(delta)
    for _ in range(STEPS):
        (slope,) = torch.autograd.grad(soft_cross_entropy(said, target).sum(), delta)
        slope = slope * where[..., None]
        delta = delta.detach() + 2.5 / STEPS * ball * slope / _length(slope)
        delta = (delta * (ball / _length(delta)).clamp(max=1.0)).requires_grad_()
        said = answer(delta)
        found |= said.argmax(1) != target
        if bool(found.all()):
            break
    return found


def _length(change: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(change, dim=(1, 2), keepdim=True)
    return length.clamp(min=1e-12)
