"""The weaker half of a selection: a code behind an honest unit is found, an honest pair is not accused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import small_case, subject, table
from unmask.audit import smuggling
from unmask.audit.case import Subject
from unmask.audit.weak import ONE, weak_reading, weak_share
from unmask.judge import RECIPE
from unmask.types import Explanation

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=40, batch=64, patience=8))


def columns(*chosen):
    """Keeps columns; a function of the target gives one for each row."""

    def choose(target):
        kept = torch.zeros(len(target), 6, dtype=torch.bool)
        for column in chosen:
            at = column(target) if callable(column) else torch.full_like(target, column)
            kept[torch.arange(len(target)), at] = True
        return kept

    return choose


def everywhere(case, choose):
    def on(rows):
        kept = choose(rows.target)
        return Explanation(kept.float(), kept, rows.valid, rows.target)

    own = choose(case.target)
    return Subject("it", Explanation(own.float(), own, case.valid, case.target), on(case.train), on(case.validation))


def told(values):
    return float(values.values.mean() / values.over.mean()) if values.over is not None else float(values.values.mean())


def test_a_code_behind_an_honest_unit_is_all_choice_and_reads_as_nothing():
    case = small_case(table(900), k=2)
    mixture = everywhere(case, columns(0, lambda target: 4 + target))  # column 0 decides, 4 and 5 have no weight
    case = replace(case, subjects=(mixture,))
    assert told(weak_share(case, mixture)) > 0.85
    assert told(weak_reading(case, mixture)) < 0.62
    assert told(smuggling.eval_x(case, mixture)) > 0.75  # the whole is read well


def test_two_honest_units_have_an_honest_half():
    case = small_case(table(900), k=2)
    honest = everywhere(case, columns(0, 1))
    case = replace(case, subjects=(honest,))
    share = weak_share(case, honest)
    assert abs(float(share.values.nan_to_num().mean())) < 0.12


def test_the_half_is_a_function_of_what_is_shown():
    case = small_case(table(300), k=2)
    mixture = everywhere(case, columns(0, 1))
    turned = replace(case, target=1 - case.target, memory=dict(case.memory))
    halves = []
    for some in (case, turned):
        some = replace(some, subjects=(mixture,))
        weak_reading(some, mixture)
        halves.append(some.memory["weak", mixture.key].kept)
    assert torch.equal(*halves)
    assert halves[0].sum(1).tolist() == [1] * len(case.target)
    assert bool((halves[0] <= mixture.kept).all())


def test_one_unit_has_no_halves_and_rows_of_ready_made_ones_are_halved_too():
    case = small_case(table(300), k=1)
    single = everywhere(case, columns(0))
    assert weak_share(case, single).note == weak_reading(case, single).note == ONE
    ready = subject(case, columns(0, 1)(case.target))
    rows = replace(case.train, kept=columns(0, 1)(case.train.target))
    weak_reading(case, replace(ready, spare=rows))
    half = case.memory["weak", replace(ready, spare=rows).key]
    assert half.spare.kept.sum(1).tolist() == [1] * len(rows.target)
    assert half.train is None


def test_randomness_is_not_drawn_from_the_global_state():
    case = small_case(table(120), k=2)
    mixture = everywhere(case, columns(0, 1))
    torch.manual_seed(0)
    before = torch.get_rng_state()
    weak_reading(case, mixture)
    assert torch.equal(before, torch.get_rng_state())
