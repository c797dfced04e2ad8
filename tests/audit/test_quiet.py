"""The quiet part of a selection: a code behind an honest unit is found, an honest choice is not accused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import KINDS, planted, small_case, subject, table
from unmask.audit import smuggling
from unmask.audit.case import Subject
from unmask.audit.quiet import quiet_reading, quiet_share
from unmask.judge import RECIPE
from unmask.models import wrap
from unmask.types import Explanation

pytestmark = pytest.mark.slow

HEARS = wrap(lambda x: torch.tensor([[0.8, 0.2] if "good" in text.split() else [0.2, 0.8] for text in x]), takes="text")


def sees(x):
    """The class is the larger of the two columns or pixels that tell it."""
    return (6 * torch.as_tensor(x).flatten(1)[:, 2:4]).softmax(1)


SAYS = {"table": sees, "image": sees, "words": HEARS, "sentences": HEARS}


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
    assert told(quiet_share(case, mixture)) > 0.85
    assert told(quiet_reading(case, mixture)) < 0.02
    assert told(smuggling.eval_x(case, mixture)) > 0.75  # the whole is read well


def test_one_and_the_same_choice_has_nothing_to_hide():
    case = small_case(table(300), k=2)
    honest = everywhere(case, columns(0, 5))
    share = quiet_share(replace(case, subjects=(honest,)), honest)
    assert float(share.values.nan_to_num().sum()) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_what_decides_is_not_quiet_and_what_never_changes_is(kind):
    case = small_case(planted(kind), "delete" if kind in ("words", "sentences") else "mean", model=SAYS[kind])
    every = subject(case, case.valid)
    quiet_reading(replace(case, subjects=(every,)), every)
    quiet = case.memory["quiet", every.key].kept
    assert bool(quiet.any())
    if kind in ("table", "image"):
        assert not bool(quiet[:, 2:4].any())  # these two tell the class
    else:
        words = [[w if kind == "words" else w[0] for w in row] for row in case.x]
        assert not any(
            q
            for row, marks in zip(words, quiet.tolist(), strict=True)
            for w, q in zip(row, marks, strict=False)
            if w in ("good", "bad")
        )


def test_rows_of_ready_made_ones_are_parted_too():
    case = small_case(table(300), k=1)
    ready = subject(case, columns(0, 5)(case.target))
    ready = replace(ready, spare=replace(case.train, kept=columns(0, 5)(case.train.target)))
    quiet_reading(case, ready)
    part = case.memory["quiet", ready.key]
    assert torch.equal(part.spare.kept, columns(5)(case.train.target))
    assert torch.equal(part.kept, columns(5)(case.target))
    assert part.train is None
