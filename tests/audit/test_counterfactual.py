"""The smallest edit, against trying all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from audit.cases import W, planted, small_case, subject, table
from unmask import api
from unmask.audit import counterfactual
from unmask.masking import subsets
from unmask.models import shown
from unmask.training import Recipe
from unmask.types import Layout


@pytest.fixture(scope="module")
def case():
    return small_case(table(120), k=3)


def test_the_edit_turns_the_answer_and_touches_allowed_units_only(case):
    index = torch.arange(len(case.target))
    allowed = subsets.topk((case.x * W).abs(), 3, case.valid)
    found = counterfactual.search(case, index, allowed)
    assert not bool((found.edited & ~allowed).any())
    assert torch.equal((found.x != case.x), found.edited)
    assert torch.equal(case.model(found.x).argmax(1) != case.target, found.turned)
    assert float(found.turned.float().mean()) > 0.5


def test_values_come_from_rows_with_another_answer(case):
    index = torch.arange(len(case.target))
    donors = counterfactual._donors(case, index)
    assert bool((case.train.target[donors] != case.target[:, None]).all())
    found = counterfactual.search(case, index, case.valid)
    source = case.pools["train"].split.x
    for i, j in found.edited.nonzero().tolist():
        assert bool((source[donors[i], j] == found.x[i, j]).any())


def test_rows_that_nobody_is_answered_otherwise_for_are_left_out(case):
    """Few donors are taken several times; none at all, and nothing is said."""
    index = torch.arange(len(case.target))
    few = case.train.target.clone()
    few[:] = 0
    few[[4, 7]] = 1
    lone = replace(case, train=replace(case.train, target=few), memory={})
    donors = counterfactual._donors(lone, index)
    assert set(donors[case.target == 0].flatten().tolist()) == {4, 7}
    none = replace(case, train=replace(case.train, target=torch.zeros_like(few)), memory={})
    found = counterfactual.counterfactual(none, subject(none, none.valid)).values
    assert bool(found[case.target == 0].isnan().all())
    assert bool(found[case.target == 1].isfinite().all())
    assert not bool(counterfactual.search(none, index, none.valid).edited[case.target == 0].any())


def test_it_is_never_smaller_than_the_smallest_and_seldom_larger(case):
    """Every set of allowed units with every choice of donors is tried by hand."""
    index = torch.arange(12)
    allowed = subsets.topk((case.x * W).abs(), 3, case.valid)[index]
    found = counterfactual.search(case, index, allowed)
    donors, source = counterfactual._donors(case, index), case.pools["train"].split.x
    exact = 0
    for i in range(12):
        smallest = _smallest(case, i, allowed[i].nonzero()[:, 0].tolist(), source[donors[i]])
        assert bool(found.turned[i]) <= (smallest is not None)
        if bool(found.turned[i]):
            assert int(found.edited[i].sum()) >= smallest
            exact += int(found.edited[i].sum()) == smallest
    assert exact >= 0.8 * int(found.turned.sum())


def _smallest(case, i, units, donors):
    for size in range(1, len(units) + 1):
        for chosen in combinations(units, size):
            rows = case.x[i].repeat(len(donors) ** size, 1)
            for row, picks in zip(rows, product(range(len(donors)), repeat=size), strict=True):
                row[list(chosen)] = donors[list(picks), list(chosen)]
            if bool((case.model(rows).argmax(1) != case.target[i]).any()):
                return size
    return None


def test_columns_that_do_nothing_turn_nothing_and_those_that_decide_do(case):
    idle, all_ = torch.zeros_like(case.valid), subject(case, case.valid)
    idle[:, 4:] = True
    assert float(counterfactual.counterfactual(case, subject(case, idle)).values.max()) == 0.0
    assert bool(counterfactual.counterfactual_size(case, subject(case, idle)).values.isnan().all())
    turned = counterfactual.counterfactual(case, all_)
    size = counterfactual.counterfactual_size(case, all_)
    assert float(turned.values.mean()) > 0.9
    assert_close((~size.values.isnan()).float(), turned.values)
    assert float(size.values[~size.values.isnan()].min()) >= 1
    assert "only kept units could move" in turned.note
    assert "no advice" in turned.note


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "sentences", "image"])
def test_every_kind_can_be_edited(kind):
    data = planted(kind)
    case = small_case(
        data, removal="mean" if kind == "image" else "pad", model=api.train_model(data, recipe=Recipe(15, 16, 1e-2))
    )
    told = torch.stack([_telling(case, j) for j in range(case.valid.shape[1])], 1)
    kept = subsets.topk(told, 1, case.valid)
    if kind == "image":
        kept = torch.zeros_like(kept)
        kept[:, 2:4] = True  # one alone is not missed
    found = counterfactual.counterfactual(case, subject(case, kept))
    assert float(found.values.nanmean()) > 0.2
    if kind == "words":
        index = torch.arange(len(case.target))
        edit = counterfactual.search(case, index, kept)
        assert [len(row) for row in edit.x] == [len(row) for row in case.x]


def _telling(case, j):
    """(n,) what the answer loses without unit j."""
    kept = case.valid.clone()
    kept[:, j] = False
    return case.pick(case.full) - case.pick(shown(case.model, case.removal, case.x, kept))


THREE = {"table": Layout("table", (3,), (0, 1, 2), ("a", "b", "c")), "words": Layout("words")}


def test_what_a_unit_holds_is_all_that_its_mask_shows():
    """Patches of unlike sizes in two channels, against the mask of the layout."""

    def held_by(layout, x, unit):
        return counterfactual._values(x, counterfactual._places(layout)[unit])

    layout = Layout("image", (2, 2, 3), (0, 0, 1, 2, 0, 1), ("a", "b", "c"))
    x = torch.arange(36.0).view(3, 2, 2, 3)
    unit = torch.tensor([0, 1, 2])
    mask = layout.spread(torch.eye(3, dtype=torch.bool)).expand_as(x)
    for held, row, shows in zip(held_by(layout, x, unit), x, mask, strict=True):
        assert set(held.tolist()) == set(row[shows].tolist())


@pytest.mark.parametrize("kind", ["table", "words"])
def test_equal_tries_are_asked_about_once_and_those_that_change_nothing_never(kind):
    before = [list("abc"), list("abc")] if kind == "words" else torch.tensor([[1.0, 2, 3], [1, 2, 3]])
    new = [list("xyx"), list("bzb")] if kind == "words" else torch.tensor([[7.0, 8, 7], [2, 9, 2]])
    unit = torch.tensor([0, 0, 0, 1, 1, 1])
    x = [list(before[i // 3]) for i in range(6)] if kind == "words" else before.repeat_interleave(3, 0)
    for i in range(6):
        x[i][int(unit[i])] = new[i // 3][i % 3]
    old = [list("abc")] * 6 if kind == "words" else before.repeat_interleave(3, 0)
    first, changed = counterfactual._alike(THREE[kind], x, old, unit, 3)
    assert first.tolist() == [0, 1, 0, 3, 4, 3]
    assert changed.tolist() == [True, True, True, False, True, False]


@pytest.mark.parametrize("kind", ["table", "words"])
def test_answers_are_those_of_all_tries(kind):
    asked = []

    def model(rows):
        asked.append(len(rows))
        value = [len(set(row)) for row in rows] if kind == "words" else rows.sum(1).tolist()
        return torch.tensor([[float(v), -float(v)] for v in value])

    old = [list("aab")] * 4 if kind == "words" else torch.tensor([[1.0, 1, 2]] * 4)
    x = (
        [list(w) for w in ("aab", "cab", "cab", "bab")]
        if kind == "words"
        else torch.tensor([[1.0, 1, 2], [3, 1, 2], [3, 1, 2], [2, 1, 2]])
    )
    case = SimpleNamespace(model=model, data=SimpleNamespace(layout=THREE[kind]))
    want = model(x)
    asked.clear()
    found = counterfactual._answers(case, x, (old, model(old)), torch.zeros(4, dtype=torch.long), 4)
    assert torch.equal(found, want)
    assert asked[-1] == 2
