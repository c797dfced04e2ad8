"""Infidelity, against captum and closed forms."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from captum.metrics import infidelity as by_captum
from torch.testing import assert_close

from audit.cases import linear, small_case, table
from unmask import seeds
from unmask.audit import infidelity
from unmask.audit.case import Subject
from unmask.models import counted, wrap
from unmask.types import Explanation


@pytest.fixture(scope="module")
def case():
    return small_case(table(300))


def scored(case, scores, name="it"):
    return Subject(name, Explanation(scores, case.valid, case.valid, case.target))


@pytest.mark.parametrize("check", ["infidelity", "infidelity_raw"])
def test_captum_finds_the_same_from_the_same_draws(case, check):
    scores = torch.randn(case.x.shape, generator=seeds.generator(1))
    found = getattr(infidelity, check)(case, scored(case, scores)).values
    removed, _ = case.memory["units removed at random"]

    def perturb(inputs):
        """captum repeats each row as many times as there are draws."""
        mask = removed.flatten(0, 1)
        return mask.float(), inputs * ~mask

    said = by_captum(
        linear,
        perturb,
        case.x,
        scores,
        target=case.target,
        n_perturb_samples=infidelity.SAMPLES,
        normalize=check == "infidelity",
    )
    assert_close(found, said, rtol=1e-5, atol=1e-5)


def test_scores_that_add_up_have_none_and_the_scale_does_not_matter_where_it_is_fitted():
    """p = 0.5 + x @ w, so hiding units at 0 takes away exactly the sum of their products."""
    w = torch.tensor([0.02, -0.01, 0.03, 0.0, 0.01, -0.02])

    def model(x):
        p = 0.5 + torch.as_tensor(x) @ w
        return torch.stack([1 - p, p], 1)

    case = small_case(table(200), model=wrap(model))
    toward = torch.where(case.target == 1, 1.0, -1.0)[:, None]
    scores = toward * case.x * w
    for factor in (1.0, 7.0, -3.0):
        assert float(infidelity.infidelity(case, scored(case, factor * scores)).values.max()) < 1e-10
    assert float(infidelity.infidelity_raw(case, scored(case, scores)).values.max()) < 1e-10
    assert float(infidelity.infidelity_raw(case, scored(case, 7 * scores)).values.mean()) > 1e-4


def test_scores_of_nothing_leave_all_that_is_lost(case):
    found = infidelity.infidelity(case, scored(case, torch.zeros(case.x.shape))).values
    assert_close(found, case.memory["units removed at random"][1].square().mean(1).float())


def test_the_model_is_asked_once_for_all_explanations():
    case, asked = small_case(table(120)), []
    with counted() as tally:
        for seed in range(3):
            scores = torch.randn(case.x.shape, generator=seeds.generator(seed))
            infidelity.infidelity(case, scored(case, scores))
            infidelity.infidelity_raw(case, scored(case, scores))
            asked.append(tally.rows)
    assert asked[0] == asked[2] <= infidelity.SAMPLES * len(case.target)


def test_what_is_drawn_twice_is_asked_once_and_comes_out_the_same(case, monkeypatch):
    scores = torch.randn(case.x.shape, generator=seeds.generator(1))
    found = []
    for few in (infidelity.FEW, 0):
        monkeypatch.setattr(infidelity, "FEW", few)
        with counted() as tally:
            values = infidelity.infidelity(replace(case, memory={}), scored(case, scores)).values
        found.append((values, tally.rows))
    (once, fewer), (each, many) = found
    torch.testing.assert_close(once, each)
    assert fewer < many == infidelity.SAMPLES * len(case.target)


def test_the_law_is_named(case):
    note = infidelity.infidelity(case, scored(case, case.x)).note
    assert "100 sets of units removed at random" in note
    assert "even from 1 to all" in note
    removed, _ = case.memory["units removed at random"]
    sizes = torch.bincount(removed.sum(2).flatten(), minlength=7)[1:].double()
    assert_close(sizes / sizes.sum(), torch.full((6,), 1 / 6, dtype=torch.double), rtol=0, atol=0.03)
