"""How little it takes to turn the answer when only important words may move, and to turn the explanation by synonyms.

"On the Sensitivity and Stability of Model Interpretations in NLP", Yin et al. 2022.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask import distances, seeds
from unmask.audit.case import Case, Subject, Values, missing, placed, some
from unmask.audit.looking import ALIKE, swapped, vocabulary
from unmask.errors import UnmaskError
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.models.attending import Shift, embedding_of, sloping
from unmask.training import soft_cross_entropy
from unmask.types import Inputs, rows_of

__all__ = ["SHARES", "SWAPS", "least", "sensitivity", "stability", "turned"]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of a row's words that may move
ROWS = 100  # of the audited ones, at most
STEPS = 20  # of an attack
HALVINGS = 10  # of the range in which the smallest radius lies
FAR = 8.0  # times what it takes with all words, at most
SWAPS = 10  # synonyms that are tried in each row
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
    index = some(case, ROWS)
    valid, target = case.valid[index], case.target[index]
    try:
        ids = model.feed(rows_of(case.x, index))
        embedding = embedding_of(model.module, x=ids)
    except UnmaskError as error:
        return missing(case, str(error))
    if ids.shape != valid.shape or model.pieces is not None:
        return missing(case, "the model does not read one vector for each word")

    module = model.module

    def answer(delta: Tensor) -> Tensor:
        with Shift(embedding, delta):
            return module(ids)  # type: ignore[no-any-return]

    with sloping(module):
        with torch.no_grad(), Shift(embedding) as shift:
            module(ids)
        shape, scores = shift.delta.shape, subject.explanation.scores[index]
        cap = case.once("sensitivity of all words", lambda: _cap(answer, shape, valid, target))
        found = [least(answer, shape, subsets.top_share(scores, share, valid), target, FAR * cap) for share in SHARES]
    each = torch.stack(found)
    stuck, far = int(cap.isnan().sum()), float((each >= FAR * cap)[:, ~cap.isnan()].double().mean().nan_to_num())
    note = f"{len(index)} rows; {stuck} whose answer nothing turned are left out; {far:.0%} of the searches failed"
    return Values(placed(case, index, each.mean(0)), note=f"{note} and count with how far they went")


def stability(case: Case, subject: Subject) -> Values:
    """min over synonym swaps that leave the answer of Spearman's correlation of the scores; higher is better.

    A swap puts one word's nearest neighbour by the model's vectors in its place, of the same part of speech and not of
    opposite polarity (unmask[words]); it counts where the class is the same and the answer moves by at most 0.05 (total
    variation). Rows without such a swap have no value. By chance, the least of as many random correlations. Yin et al.
    2022.
    """
    model, explainer = case.model, subject.explainer
    if case.data.kind != "words" or not isinstance(model, Wrapped) or model.module is None:
        return missing(case, "only words of a model with vectors of its own can be swapped")
    if explainer is None:
        return missing(case, "came ready-made: swapped rows cannot be explained")
    index = some(case, ROWS)
    try:
        swaps = case.once("synonyms", lambda: [_swapped(case, model, index, i) for i in range(SWAPS)])
        again = [explainer.explain(x, case.target[index]).scores for x, _ in swaps]
    except UnmaskError as error:
        return missing(case, str(error))
    scores, valid = subject.explanation.scores[index], case.valid[index]
    width = max(valid.sum(1).max().item(), 1)
    found = [distances.spearman(scores[:, :width], e[:, :width], valid[:, :width]) for e in again]
    lowest = torch.stack([f.where(same, torch.inf) for f, (_, same) in zip(found, swaps, strict=True)]).amin(0)
    left = int(lowest.isinf().sum())
    note = f"{len(index)} rows; {left} without a synonym that leaves the answer are left out"
    return Values(placed(case, index, lowest.where(~lowest.isinf(), torch.nan)), note=note)


def _swapped(case: Case, model: Wrapped, index: Tensor, i: int) -> tuple[Inputs, Tensor]:
    """The rows with one word of each swapped for a synonym, and whether there is one that leaves the answer."""
    ids = model.feed(case.x)
    vectors, known, spelling = case.once("vocabulary", lambda: vocabulary(case, model, ids))
    x, valid, old = rows_of(case.x, index), case.valid[index], ids[index]
    new = swapped(vectors, old, valid, known, seeds.derive(case.seed, "synonyms", i), spelling=spelling)
    changed = (new != old).cpu() & valid
    rows = [list(row) for row in x]
    for r, place in changed.nonzero().tolist():
        rows[r][place] = spelling[int(new[r, place])]
    said, before = model(rows), case.full[index]
    same = (said.argmax(1) == case.target[index]) & (distances.tvd(said, before) <= ALIKE)
    return rows, same & changed.any(1)


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
