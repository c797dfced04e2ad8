"""Do the methods agree? Six measures for each pair of explanations, "The Disagreement Problem", Krishna et al. 2022.

Units are ordered by their score toward the class, as they are kept, not by its size as the paper has it: the logits of
a learned selector mean nothing by their size. Only where signs are compared the top k are those of the largest size, as
published: among the highest scores opposite signs never meet. `order(..., by_size=True)` gives the paper's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.distances import standard_ranks
from unmask.masking import subsets
from unmask.masking.controls import CONTROLS

__all__ = [
    "Order",
    "common",
    "feature_agreement",
    "order",
    "pairs_alike",
    "pairwise_rank_agreement",
    "rank_agreement",
    "rank_correlation",
    "relations",
    "sign_agreement",
    "signed_rank_agreement",
]

MEASURES = ("feature", "rank", "sign", "signed rank", "correlation", "pairs")
PAIRS = 4096  # of units; where a row has more, as many are drawn
BLOCK = 128  # rows whose ranks and pairs are held at a time

Pairs = tuple[Tensor, Tensor, Tensor]
"""(n, m) the first and the second unit of each pair, and whether there is such a pair."""


@dataclass(frozen=True)
class Order:
    """The units of each row by importance; `place` counts from 0, the best."""

    importance: Tensor  # (n, d)
    place: Tensor  # (n, d)
    sign: Tensor  # (n, d) of the scores: -1, 0 or 1
    valid: Tensor
    k: Tensor  # (n,) how many count as the top


def order(scores: Tensor, k: int, valid: Tensor, by_size: bool = False) -> Order:
    """Best first, among equals the lowest index; with `by_size` by |score|, as published."""
    importance = (scores.abs() if by_size else scores).masked_fill(~valid, -torch.inf)
    return Order(importance, subsets.places(importance, valid), scores.sign(), valid, subsets.counts(valid, k))


def common(a: Order, b: Order, rank: bool = False, sign: bool = False) -> Tensor:
    """(n,) share of the top k that both have: the same units, at the same rank, of the same sign, as wanted."""
    found = (a.place < a.k[:, None]) & (b.place < b.k[:, None]) & a.valid
    if rank:
        found &= a.place == b.place
    if sign:
        found &= a.sign == b.sign
    return found.sum(1) / a.k.clamp(min=1)


def relations(a: Order, seed: int = 0) -> Tensor:
    """(n, pairs) int8: whether the first unit of a pair is below (-1), equal to (0) or above (1) the second one.

    2 where there is no such pair. Rows with more than PAIRS pairs have as many, drawn at random.
    """
    return _related(a, _pairs(a.valid, seed))


def _related(a: Order, pairs: Pairs) -> Tensor:
    i, j, there = pairs
    first, second = a.importance.gather(1, i), a.importance.gather(1, j)
    return ((first > second).char() - (first < second).char()).masked_fill(~there, 2)


def pairs_alike(a: Tensor, b: Tensor, strict: bool = False) -> Tensor:
    """(n,) share of the pairs that both relations have in the same order; a tie is in the same order as a tie only.

    With `strict`, only whether the first is below the second counts, so that a tie agrees with "above": OpenXAI. nan
    where there is no pair.
    """
    there = a != 2
    alike = (a == -1) == (b == -1) if strict else a == b
    return (alike & there).sum(1) / torch.where(there.any(1), there.sum(1), torch.nan)


def _pairs(valid: Tensor, seed: int) -> Pairs:
    """Valid units stand first."""
    n, d = valid.shape
    if d * (d - 1) // 2 <= PAIRS:
        i, j = torch.triu_indices(d, d, 1)
        return i.expand(n, -1), j.expand(n, -1), valid[:, i] & valid[:, j]
    rng, length = seeds.generator(seeds.derive(seed, "pairs of units")), valid.sum(1, keepdim=True)
    i, step = (torch.rand(n, PAIRS, generator=rng) for _ in range(2))
    first = (i * length).long()
    second = (first + 1 + (step * (length - 1)).long()) % length.clamp(min=1)
    return first, second, (length > 1).expand(n, PAIRS)


def feature_agreement(case: Case, subject: Subject) -> Values:
    """|top-k of a and of b| / k, the mean over the other explanations; 1: the same units. By chance k/d."""
    return _with_others(case, subject, "feature")


def rank_agreement(case: Case, subject: Subject) -> Values:
    """Share of the k first ranks at which a and b have the same unit."""
    return _with_others(case, subject, "rank")


def sign_agreement(case: Case, subject: Subject) -> Values:
    """|units in both top-k, by |score|, whose scores have the same sign| / k; scores of 0 have a sign of their own.

    Of learned selectors, whose scores are logits, a sign says little.
    """
    return _with_others(case, subject, "sign")


def signed_rank_agreement(case: Case, subject: Subject) -> Values:
    """Share of the k first ranks, by |score|, at which a and b have the same unit with the same sign."""
    return _with_others(case, subject, "signed rank")


def rank_correlation(case: Case, subject: Subject) -> Values:
    """Spearman's correlation of the scores over all units of a row, ties at their mean rank; -1 to 1."""
    return _with_others(case, subject, "correlation")


def pairwise_rank_agreement(case: Case, subject: Subject) -> Values:
    """Share of all pairs of units that a and b put in the same order; by chance one half."""
    return _with_others(case, subject, "pairs")


def _with_others(case: Case, subject: Subject, measure: str) -> Values:
    """The measure with each other explanation that is no control, and the mean of them."""
    others = [s.name for s in case.subjects if s.name != subject.name and s.name not in CONTROLS]
    if not others:
        return missing(case, "there is no other explanation to compare with")
    known = case.once("agreement", lambda: _agreed(case, case.subjects))
    if (subject.name, others[0]) not in known:  # a random control of its own
        known = case.once(("agreement", subject.name), lambda: _agreed(case, (subject,)))
    parts = {f"explanation={other}": known[subject.name, other][measure] for other in others}
    return Values(torch.stack(list(parts.values())).nanmean(0), parts=parts)


Agreed = dict[tuple[str, str], dict[str, Tensor]]
"""Two explanations -> measure -> (n,) how far they agree."""


def _agreed(case: Case, subjects: Sequence[Subject]) -> Agreed:
    """Each of `subjects` beside each explanation that is no control; ranks are held for some rows at a time only.

    What is found is written into tensors that were there before: small ones between the large would hold them all.
    """
    others = [s for s in case.subjects if s.name not in CONTROLS]
    two = [(s.name, o.name) for s in subjects for o in others if s.name != o.name]
    found = {pair: {name: torch.empty(len(case.target)) for name in MEASURES} for pair in two}
    for rows in torch.arange(len(case.target)).split(BLOCK):
        pairs = _pairs(case.valid[rows], case.seed + int(rows[0]))
        ranked = {s.name: _ranked(case, s, rows, pairs) for s in (*subjects, *others)}
        for a, b in two:
            for name, values in zip(MEASURES, _measured(ranked[a], ranked[b]), strict=True):
                found[a, b][name][rows] = values
    return found


Ranked = tuple[Order, Order, Tensor, Tensor]
"""The order of the units in some rows and that by size, their standard ranks, and the relations of their pairs."""


def _ranked(case: Case, subject: Subject, rows: Tensor, pairs: Pairs) -> Ranked:
    found, sized = (order(subject.explanation.scores[rows], case.k, case.valid[rows], by) for by in (False, True))
    return found, sized, standard_ranks(found.importance, found.valid), _related(found, pairs)


def _measured(one: Ranked, other: Ranked) -> Iterator[Tensor]:
    """The six measures in their order."""
    (a, a_sized, a_ranks, a_pairs), (b, b_sized, b_ranks, b_pairs) = one, other
    yield common(a, b)
    yield common(a, b, rank=True)
    yield common(a_sized, b_sized, sign=True)
    yield common(a_sized, b_sized, rank=True, sign=True)
    yield (a_ranks * b_ranks).sum(1).float()
    yield pairs_alike(a_pairs, b_pairs)
