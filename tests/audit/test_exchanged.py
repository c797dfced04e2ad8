from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import small_case, table
from audit.test_smuggling import at_random, everywhere, noise_code, strongest
from unmask.audit import exchanged, smuggling
from unmask.audit.case import Subject
from unmask.audit.exchanged import TIMES, _exchanged, encoding_p
from unmask.judge import RECIPE, Rows
from unmask.types import Explanation

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=15, batch=64, patience=4))


def p_of(choose, seed=0):
    case = replace(small_case(table(300, seed=seed), k=1), seed=seed)
    who = everywhere(case, choose)
    found = encoding_p(replace(case, subjects=(who,)), who)
    assert len(found.values.unique()) == 1
    return float(found.values[0]), found.note


def test_a_code_gains_more_than_after_any_exchange():
    p, note = p_of(noise_code)
    assert p == pytest.approx(1 / (1 + TIMES))
    assert f"after {TIMES} exchanges" in note


def test_one_and_the_same_mask_gains_no_more_than_after_any_exchange():
    assert p_of(strongest) == (1.0, "the same units in every row")


def test_random_units_have_any_p_value(monkeypatch):
    monkeypatch.setattr(exchanged, "TIMES", 9)
    found = [p_of_nine(seed) for seed in range(8)]
    assert max(found) > 0.3
    assert sum(p <= 0.1 for p in found) <= 3  # of eight, at a tenth: four or more come up once in two hundred


def p_of_nine(seed):
    case = replace(small_case(table(200, seed=seed), k=1), seed=seed)
    who = everywhere(case, at_random)
    return float(encoding_p(replace(case, subjects=(who,)), who).values[0])


def test_an_exchange_gives_every_mask_to_another_row():
    valid = torch.ones(6, 6, dtype=torch.bool)
    kept = torch.eye(6, dtype=torch.bool)
    one = Explanation(kept.float(), kept, valid, torch.zeros(6, dtype=torch.long))
    rows = Rows(torch.zeros(6, 6), torch.zeros(6, dtype=torch.long), valid, kept)
    other = _exchanged(Subject("it", one, one, one, spare=rows), seed=3)
    parts = (other.explanation.kept, other.train.kept, other.validation.kept, other.spare.kept)
    for part in parts:
        assert not bool((part & kept).any())  # nobody keeps its own
        assert part.sum(0).tolist() == part.sum(1).tolist() == [1] * 6  # none is lost
    bare = _exchanged(Subject("it", one), seed=3)
    assert (bare.train, bare.validation, bare.spare) == (None, None, None)
