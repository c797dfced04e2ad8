"""The six measures of agreement, against loops over features and scipy."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
import torch
from scipy.stats import spearmanr
from torch.testing import assert_close

from audit.cases import small_case, table
from unmask import seeds
from unmask.audit import CHECKS, agreement, function_of
from unmask.audit.agreement import common, order, pairs_alike, relations
from unmask.audit.case import Subject
from unmask.audit.subjects import control
from unmask.distances import spearman
from unmask.masking import subsets
from unmask.types import Explanation

NAMES = [name for name, check in CHECKS.items() if check.question == "agreement"]
N, D, K = 25, 7, 3
VALID = torch.ones(N, D, dtype=torch.bool)


def drawn(seed, ties=False):
    scores = torch.randn(N, D, generator=seeds.generator(seed))
    return (2 * scores).round() if ties else scores


def tops(row, k, by_size):
    return sorted(range(D), key=lambda j: (-abs(row[j]) if by_size else -row[j], j))[:k]


@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_the_measures_of_the_top_are_those_of_a_loop(by_size, ties):
    a, b = drawn(1, ties), drawn(2, ties)
    one, other = (order(s, K, VALID, by_size) for s in (a, b))
    for i in range(N):
        first, second = (tops(s[i].tolist(), K, by_size) for s in (a, b))
        both = set(first) & set(second)
        same = [j for j in both if torch.sign(a[i, j]) == torch.sign(b[i, j])]
        ranked = [j for j, other_j in zip(first, second, strict=True) if j == other_j]
        assert float(common(one, other)[i]) == pytest.approx(len(both) / K)
        assert float(common(one, other, sign=True)[i]) == pytest.approx(len(same) / K)
        assert float(common(one, other, rank=True)[i]) == pytest.approx(len(ranked) / K)
        assert float(common(one, other, rank=True, sign=True)[i]) == pytest.approx(len(set(ranked) & set(same)) / K)


@pytest.mark.parametrize("strict", [False, True])
def test_pairs_in_the_same_order_are_those_of_a_loop(strict):
    a, b = drawn(1, ties=True), drawn(2, ties=True)
    found = pairs_alike(*(relations(order(s, K, VALID)) for s in (a, b)), strict=strict)
    for i in range(N):
        pairs = list(combinations(range(D), 2))
        if strict:
            alike = [bool(a[i, p] < a[i, q]) == bool(b[i, p] < b[i, q]) for p, q in pairs]
        else:
            alike = [torch.sign(a[i, p] - a[i, q]) == torch.sign(b[i, p] - b[i, q]) for p, q in pairs]
        assert float(found[i]) == pytest.approx(sum(map(bool, alike)) / len(pairs))


def test_many_pairs_are_drawn_and_come_near(monkeypatch):
    a, b = (torch.randn(3, 60, generator=seeds.generator(s)) for s in (1, 2))
    b = b + a
    valid = torch.arange(60) < torch.tensor([[60], [40], [1]])
    orders = [order(s, K, valid) for s in (a, b)]
    exact = pairs_alike(*map(relations, orders))
    monkeypatch.setattr(agreement, "PAIRS", 1500)
    near = pairs_alike(*map(relations, orders))
    assert bool(exact[2].isnan() & near[2].isnan())
    assert_close(near[:2], exact[:2], rtol=0, atol=4 * (0.25 / 1500) ** 0.5)
    assert not torch.equal(near[:2], exact[:2])


def test_alike_is_one_and_turned_round_is_what_the_paper_says():
    a = torch.arange(1.0, 9.0).expand(4, 8)
    valid = torch.ones(4, 8, dtype=torch.bool)
    same, turned = order(a, 8, valid), order(a.flip(1), 8, valid)
    assert_close(common(same, same, rank=True, sign=True), torch.ones(4))
    assert_close(pairs_alike(relations(same), relations(same)), torch.ones(4))
    assert_close(common(same, turned), torch.ones(4))  # the same units at k = d
    assert_close(common(same, turned, rank=True), torch.zeros(4))  # d is even: no unit keeps its rank
    assert_close(pairs_alike(relations(same), relations(turned)), torch.zeros(4))
    assert_close(spearman(a, a.flip(1), valid), -torch.ones(4))


def audited(names=("a", "b", "c")):
    case = small_case(table(150), k=2)
    subjects = []
    for seed, name in enumerate(names):
        scores = torch.randn(case.x.shape, generator=seeds.generator(seed))
        kept = subsets.topk(scores, 2, case.valid)
        subjects.append(Subject(name, Explanation(scores, kept, case.valid, case.target)))
    return replace(case, subjects=(*subjects, control(case, "random", 2)))


@pytest.mark.parametrize("name", NAMES)
def test_each_explanation_is_compared_with_each_other_and_controls_with_all(name):
    case = audited()
    check, found = function_of(name), {}
    for s in case.subjects:
        found[s.name] = check(case, s)
        others = [o for o in ("a", "b", "c") if o != s.name]
        assert list(found[s.name].parts) == [f"explanation={o}" for o in others]
        assert_close(found[s.name].values, torch.stack(list(found[s.name].parts.values())).mean(0))
    assert_close(found["a"].parts["explanation=b"], found["b"].parts["explanation=a"])


def test_feature_agreement_is_that_of_the_kept_units_and_correlation_that_of_scipy():
    case = audited()
    a, b, *_ = case.subjects
    both = (a.kept & b.kept).sum(1) / 2
    assert_close(agreement.feature_agreement(case, a).parts["explanation=b"], both)
    found = agreement.rank_correlation(case, a).parts["explanation=b"]
    expected = [spearmanr(p, q).statistic for p, q in zip(a.explanation.scores, b.explanation.scores, strict=True)]
    assert_close(found.double(), torch.tensor(expected).double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_holding_some_rows_at_a_time_changes_nothing(name, monkeypatch):
    check = function_of(name)
    case = audited()
    whole = check(case, case.subjects[0]).parts
    monkeypatch.setattr(agreement, "BLOCK", 7)
    case = audited()
    in_parts = check(case, case.subjects[0]).parts
    assert whole.keys() == in_parts.keys()
    for other, values in whole.items():
        assert_close(in_parts[other], values)


def test_random_units_agree_by_chance():
    case = audited()
    random = case.subjects[-1]
    rows = 3 * len(case.target)
    assert float(agreement.feature_agreement(case, random).values.mean()) == pytest.approx(
        2 / 6, abs=4 * 0.27 / rows**0.5
    )
    assert abs(float(agreement.rank_correlation(case, random).values.mean())) < 4 * 0.45 / rows**0.5
    assert float(agreement.pairwise_rank_agreement(case, random).values.mean()) == pytest.approx(0.5, abs=0.1)


def test_alone_there_is_nobody_to_agree_with():
    case = audited(("a",))
    found = agreement.feature_agreement(case, case.subjects[0])
    assert bool(found.values.isnan().all())
    assert found.note == "there is no other explanation to compare with"


@pytest.mark.parametrize(("check", "rank"), [("sign-agreement", False), ("signed-rank-agreement", True)])
def test_signs_are_compared_among_the_units_of_the_largest_size(check, rank):
    """Among the highest scores there are no opposite signs: the published top is by size."""
    case = audited(("a", "b"))
    a, b, _ = case.subjects
    found = function_of(check)(case, a).values
    for one, other, value in zip(a.explanation.scores.tolist(), b.explanation.scores.tolist(), found, strict=True):
        first, second = (sorted(range(len(s)), key=lambda j, s=s: -abs(s[j]))[:2] for s in (one, other))
        pairs = zip(first, second, strict=True) if rank else ((j, j) for j in first if j in second)
        assert float(value) == sum(i == j and one[i] * other[j] > 0 for i, j in pairs) / 2
    flipped = replace(b, explanation=replace(b.explanation, scores=-a.explanation.scores))
    assert float(function_of(check)(replace(case, subjects=(a, flipped), memory={}), a).values.max()) == 0.0
