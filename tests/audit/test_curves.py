"""Curves over the number of units, against loops over rows and shares."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from audit.cases import W, small_case, subject, table
from unmask.audit import curves
from unmask.audit.case import Subject
from unmask.models import counted
from unmask.types import Explanation


@pytest.fixture(scope="module")
def case():
    return small_case(table(200))


def scored(case, scores):
    kept = torch.zeros_like(case.valid)
    return Subject("it", Explanation(scores, kept, case.valid, case.target))


def p_target(case, i, units):
    """p(target) of row i of the linear model when only `units` are shown, the others being 0."""
    p = 1 / (1 + math.exp(-sum(float(case.x[i, j] * W[j]) for j in units)))
    return p if int(case.target[i]) == 1 else 1 - p


def by_hand(case, scores, share, hidden):
    found = []
    for i in range(len(case.target)):
        ranked = sorted(range(6), key=lambda j: (-float(scores[i, j]), j))
        best = ranked[: math.ceil(round(share * 6, 9))]
        found.append(p_target(case, i, [j for j in range(6) if (j in best) != hidden]))
    return torch.tensor(found)


@pytest.mark.parametrize(("check", "hidden"), [("aopc_sufficiency", False), ("aopc_comprehensiveness", True)])
def test_the_area_over_the_curve_is_the_mean_loss_over_the_published_bins(case, check, hidden):
    scores = case.x * W
    full = by_hand(case, scores, 1.0, False)
    losses = {q: full - by_hand(case, scores, q, hidden) for q in (0.01, 0.05, 0.1, 0.2, 0.5)}
    found = getattr(curves, check)(case, scored(case, scores))
    assert_close(found.values, torch.stack(list(losses.values())).mean(0), rtol=0, atol=1e-5)
    assert tuple(found.curve) == tuple(losses)
    assert_close(found.curve[0.5], losses[0.5], rtol=0, atol=1e-5)


@pytest.mark.parametrize("check", ["insertion", "deletion"])
def test_the_area_under_the_curve_is_numpys(case, check):
    scores = case.x * W
    points = [by_hand(case, scores, q, check == "deletion") for q in curves.STEPS]
    area = np.trapezoid(np.stack(points), np.linspace(0, 1, 11), axis=0)
    found = getattr(curves, check)(case, scored(case, scores))
    assert_close(found.values.double(), torch.from_numpy(area).double(), rtol=0, atol=1e-5)
    assert_close(found.curve[0.3], points[3], rtol=0, atol=1e-5)


def test_insertion_begins_with_nothing_and_ends_with_the_row_and_deletion_the_other_way(case):
    it = scored(case, case.x * W)
    shown, hidden = curves.insertion(case, it).curve, curves.deletion(case, it).curve
    assert_close(shown[1.0], case.pick(case.full))
    assert_close(hidden[0.0], case.pick(case.full))
    assert_close(shown[0.0], torch.full_like(case.full[:, 0], 0.5))
    assert_close(hidden[1.0], shown[0.0])


def test_true_contributions_beat_those_turned_round(case):
    toward = torch.where(case.target == 1, 1.0, -1.0)[:, None]
    good, bad = (scored(case, sign * toward * case.x * W) for sign in (1, -1))
    for check, better in (("insertion", 1), ("deletion", -1), ("aopc_sufficiency", -1), ("aopc_comprehensiveness", 1)):
        a, b = (float(getattr(curves, check)(case, it).values.mean()) for it in (good, bad))
        assert better * (a - b) > 0.2, check


def test_the_model_is_asked_once_for_all_four(case):
    it = scored(case, torch.rand(case.x.shape))
    with counted() as tally:
        for check in ("aopc_sufficiency", "aopc_comprehensiveness", "insertion", "deletion"):
            getattr(curves, check)(case, it)
    assert tally.rows == 2 * 6 * len(case.target)  # 0 to 5 of six units shown, and hidden; the whole row is known


def test_a_check_asks_only_what_it_needs_and_in_any_order_the_same_comes_out(case):
    scores = torch.rand(case.x.shape)
    one, other = (scored(case, s) for s in (scores, scores + 1))  # the same order, other scores: nothing is shared
    with counted() as tally:
        first = curves.aopc_sufficiency(case, one)
    assert tally.rows == 3 * len(case.target)  # 1, 5 and 10% of six units are one unit, 20% two, 50% three
    area = curves.insertion(case, other)
    assert_close(curves.insertion(case, one).values, area.values)
    assert_close(curves.aopc_sufficiency(case, other).values, first.values)


def test_large_audits_measure_some_rows_at_even_distances(monkeypatch):
    monkeypatch.setattr(curves, "ROWS", 10)
    case = small_case(table(200))
    found = curves.insertion(case, scored(case, case.x * W))
    there = (~found.values.isnan()).nonzero()[:, 0]
    assert len(there) == 10
    assert int(there[0]) == 0
    assert int(there[-1]) == len(case.target) - 1


def test_rows_of_different_length_lose_shares_of_their_own(case):
    valid = case.valid.clone()
    valid[::2, 3:] = False
    it = subject(case, valid)
    from unmask.masking import subsets

    assert subsets.top_share(it.explanation.scores, 0.5, valid).sum(1)[:2].tolist() == [2, 3]
    assert subsets.top_share(it.explanation.scores, 0.01, valid).sum(1)[:2].tolist() == [1, 1]
