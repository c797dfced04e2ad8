"""Do people agree? Selections beside the units that people marked, or that are known to decide (ERASER, 2020).

The pure functions take `kept` and `relevant`, (n, d) bool, and give one value for each row; `weight` counts a unit more
than once (a sentence as often as it has words). A row that people marked nothing in has none.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from sklearn.metrics import auc, precision_recall_curve
from torch import Tensor

from unmask.audit.case import Case, Subject, Values, missing
from unmask.types import Inputs, Layout

__all__ = [
    "auprc",
    "human_auprc",
    "human_f1",
    "human_f1_micro",
    "human_iou",
    "human_precision",
    "human_precision_micro",
    "human_recall",
    "human_recall_micro",
    "iou_f1",
    "spans",
    "token_scores",
    "words_of",
]

NO_TRUTH = "nobody marked the units that decide in these rows"
HALF = 0.5  # of the union of two spans must be common to them


def token_scores(kept: Tensor, relevant: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(n,) precision, recall and F1 of each row; 0 where nothing is kept, nan where nothing is relevant."""
    w = torch.ones(kept.shape) if weight is None else weight.float()
    hit, chosen, wanted = ((w * part).sum(1) for part in (kept & relevant, kept, relevant))
    precision = torch.where(chosen > 0, hit / chosen.clamp(min=1e-9), 0.0)
    recall = hit / wanted.clamp(min=1e-9)
    f1 = 2 * hit / (chosen + wanted).clamp(min=1e-9)
    none = wanted == 0
    return precision.masked_fill(none, torch.nan), recall.masked_fill(none, torch.nan), f1.masked_fill(none, torch.nan)


def words_of(layout: Layout, x: Inputs, valid: Tensor) -> Tensor:
    """(n, d) words of each sentence; 1 for units of any other kind."""
    if layout.kind != "sentences":
        return valid.float()
    weight = torch.zeros(valid.shape)
    weight[valid] = torch.tensor([float(len(sentence)) for row in x for sentence in row])
    return weight


def spans(marked: Tensor) -> list[list[tuple[int, int]]]:
    """The runs of marked units of each row, as (first, after the last)."""
    edges = torch.nn.functional.pad(marked.int(), (1, 1)).diff(dim=1)
    found: list[list[tuple[int, int]]] = [[] for _ in range(len(marked))]
    starts, ends = (edges == 1).nonzero().tolist(), (edges == -1).nonzero().tolist()
    for (row, start), (_, end) in zip(starts, ends, strict=True):
        found[row].append((start, end))
    return found


def iou_f1(kept: Tensor, relevant: Tensor) -> Tensor:
    """(n,) F1 over spans: one of `kept` counts as found where it shares at least half of a union with a marked one."""
    values = []
    for ours, theirs in zip(spans(kept), spans(relevant), strict=True):
        hits = sum(any(_iou(a, b) >= HALF for b in theirs) for a in ours)
        values.append(2 * hits / (len(ours) + len(theirs)) if theirs else torch.nan)
    return torch.tensor(values)


def _iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return common / (a[1] - a[0] + b[1] - b[0] - common)


def auprc(scores: Tensor, relevant: Tensor, valid: Tensor) -> Tensor:
    """(n,) area under precision over recall of the scores, by trapezoids as ERASER has it."""
    values = []
    for s, r, v in zip(scores.double(), relevant, valid, strict=True):
        if not bool(r[v].any()):
            values.append(torch.nan)
            continue
        precision, recall, _ = precision_recall_curve(r[v].int().numpy(), s[v].numpy())
        values.append(float(auc(recall, precision)))
    return torch.tensor(values)


def human_precision(case: Case, subject: Subject) -> Values:
    """Share of what is kept that people marked, row by row."""
    return _compared(case, subject, 0)


def human_recall(case: Case, subject: Subject) -> Values:
    """Share of what people marked that is kept, row by row."""
    return _compared(case, subject, 1)


def human_f1(case: Case, subject: Subject) -> Values:
    """F1 of each row; their mean is below the F1 of mean precision and mean recall."""
    return _compared(case, subject, 2)


def human_precision_micro(case: Case, subject: Subject) -> Values:
    """Precision over the units of all rows together."""
    return _together(case, subject, lambda hit, chosen, wanted: Values(hit, over=chosen))


def human_recall_micro(case: Case, subject: Subject) -> Values:
    """Recall over the units of all rows together."""
    return _together(case, subject, lambda hit, chosen, wanted: Values(hit, over=wanted))


def human_f1_micro(case: Case, subject: Subject) -> Values:
    """F1 over the units of all rows together: long rows count more."""
    return _together(case, subject, lambda hit, chosen, wanted: Values(2 * hit, over=chosen + wanted))


def human_iou(case: Case, subject: Subject) -> Values:
    """F1 over spans that share at least half of their union with one that people marked."""
    return missing(case, NO_TRUTH) if case.relevant is None else Values(iou_f1(subject.kept, case.relevant))


def human_auprc(case: Case, subject: Subject) -> Values:
    """Area under precision over recall of the scores."""
    if case.relevant is None:
        return missing(case, NO_TRUTH)
    return Values(auprc(subject.explanation.scores, case.relevant, case.valid))


def _compared(case: Case, subject: Subject, which: int) -> Values:
    if case.relevant is None:
        return missing(case, NO_TRUTH)
    return Values(token_scores(subject.kept, case.relevant, _weight(case))[which])


def _together(case: Case, subject: Subject, ratio: Callable[[Tensor, Tensor, Tensor], Values]) -> Values:
    """A ratio of units that are both, kept, or marked, (n,) each; rows that people marked nothing in count too."""
    if case.relevant is None:
        return missing(case, NO_TRUTH)
    w = _weight(case)
    hit, chosen, wanted = ((w * part).sum(1) for part in (subject.kept & case.relevant, subject.kept, case.relevant))
    return ratio(hit, chosen, wanted)


def _weight(case: Case) -> Tensor:
    return words_of(case.data.layout, case.x, case.valid)
