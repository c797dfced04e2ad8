"""Which checks fit into a budget: known costs, the deciding ones first, and what is left out is said."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from audit.cases import linear, small_case, subject, table
from unmask.audit import DECIDING, budget, chosen, smuggling
from unmask.audit.budget import Plan, Rates, costs, plan, seconds_of, within
from unmask.audit.case import Case
from unmask.audit.subjects import Settings
from unmask.audit.work import job_of
from unmask.errors import InputError
from unmask.explainers.l2x import L2X
from unmask.training import Recipe


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("90", 90), ("5m", 300), ("1.5h", 5400), (" 2 min ", 120)])
def test_times(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5s", "0", "5 days", "1e3"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(InputError, match="a budget is a time such as 60s, 5m or 1h, got"):
        seconds_of(text)


COST = {"kept alone": 1.0, "kept away": 1.0, "matched judges": 6.0, "neutral judges": 2.0}
COST |= {"judges of random masks": 4.0, "moved rows": 30.0, "mask-only": 0.5, "nothing": 0.0}
WANTED = ("fs-m", "fu-m", "sufficiency", "encoding-gain", "encoding-share", "reading", "reading-nats", "eval-x")
WANTED += ("whole-rows", "mask-only", "sen")


def test_the_cheapest_come_first_and_what_is_shared_is_paid_once() -> None:
    found = plan(WANTED, COST, left=15.0)
    assert found.checks == tuple(name for name in WANTED if name != "sen")
    assert found.seconds == 14.5  # sufficiency and eval-x cost nothing more
    assert found.left_out == {"sen": 30.0}
    assert plan(WANTED, COST, left=1000).left_out == {}


def test_the_deciding_ones_are_run_whatever_they_take() -> None:
    found = plan(WANTED, COST, left=0.0)
    assert set(DECIDING) <= set(found.checks)
    assert set(found.left_out) == {"mask-only", "sen"}
    said = found.sentence(5.0)
    assert said.startswith("budget 5 s: 9 checks are planned, about 14 s from here, left out: mask-only (about 0 s)")


def test_costs_grow_with_rows_and_explanations() -> None:
    case = small_case()
    kept = torch.zeros_like(case.valid)
    kept[:, 0] = True
    one = replace(case, subjects=(subject(case, kept),))
    two = replace(case, subjects=(subject(case, kept), subject(case, kept, "other")))
    settings = Settings(k=2, checks=chosen("all"))
    rates = Rates(answer=0.01, lesson=0.001, fitting=2.0)
    a, b = costs(one, settings, rates), costs(two, settings, rates)
    n = len(case.target)
    assert a["kept alone"] == pytest.approx(0.01 * n * 2)  # itself and random units like it
    assert b["kept alone"] == pytest.approx(2 * a["kept alone"])
    assert b["matched judges"] == pytest.approx(2 * a["matched judges"])
    assert b["neutral judges"] == a["neutral judges"] == pytest.approx(smuggling.SEEDS * 0.001 * 180 * budget.EPOCHS)
    assert a["randomized-model"] == 6.0
    assert all(job_of(name) in a for name in settings.checks)


def test_what_is_known_is_free_and_never_left_out() -> None:
    found = plan(WANTED, COST, left=0.0, free=("sen", "encoding-gain"))
    assert found.left_out == {"mask-only": 0.5}
    assert found.seconds == 14.0  # encoding-share still needs its judges
    assert plan(WANTED, COST, left=0.0, free=("encoding-gain", "encoding-share")).seconds == 8.0
    assert plan(WANTED, COST, left=0.0, free=WANTED).seconds == 0.0


class Learner:
    """Takes its time to fit, and remembers it where asked to."""

    method = "learner"

    def __init__(self, remembered: float | None = None, takes: float = 0.0) -> None:
        self.fits, self.takes = 0, takes
        if remembered is not None:
            self.seconds_ = remembered

    def clone(self) -> Learner:
        return self

    def fit(self, model: Any, data: Any) -> Learner:
        self.fits += 1
        time.sleep(self.takes)
        return self


def case_of(*learners: Any) -> Case:
    case = small_case()
    kept = torch.zeros_like(case.valid)
    kept[:, 0] = True
    subjects = [replace(subject(case, kept, f"it {i}"), explainer=each) for i, each in enumerate(learners)]
    return replace(case, subjects=tuple(subjects))


def planned(case: Case, seconds: float, check: str = "seed-stability", known: Any = None) -> tuple[Plan, str]:
    """The plan where neither answers nor judges take any time."""
    heard: list[str] = []
    settings = Settings(k=2, checks=chosen(check), budget=seconds, begun=time.perf_counter())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "_measured", lambda case: Rates(0.0, 0.0, 0.0))
        _, found = within(case, settings, heard.append, known or (lambda subject, check: False))
    assert found is not None
    return found, heard[0]


def test_an_explainer_that_came_fitted_costs_what_its_fit_took() -> None:
    quick, slow = Learner(remembered=0.01), Learner(remembered=1000.0)
    assert planned(case_of(quick), 1000)[0].left_out == {}
    found, said = planned(case_of(quick, slow), 1000)
    assert found.left_out == {"seed-stability": 3 * 1000.01}
    assert "left out: seed-stability (about 3000 s)" in said
    assert quick.fits == slow.fits == 0


def test_one_that_does_not_remember_is_fitted_once_to_see() -> None:
    learner = Learner(takes=0.1)
    assert 0.3 < planned(case_of(learner), 1000)[0].seconds < 3.0
    assert learner.fits == 1
    planned(case_of(learner), 1000, "mask-only")  # which fits nothing
    assert learner.fits == 1


def test_of_what_learns_in_epochs_one_is_seen() -> None:
    data = table()
    explainer = L2X(k=2, recipe=Recipe(epochs=50, patience=1)).fit(linear, data)
    remembered = explainer.seconds_
    del explainer.seconds_
    begun = time.perf_counter()
    found = budget._trial(small_case(data), explainer)
    assert found == pytest.approx(50 * (time.perf_counter() - begun), rel=0.2)
    assert found > remembered / 2


def test_where_there_is_no_time_to_see_it_is_left_out() -> None:
    learner = Learner(takes=5.0)
    found, said = planned(case_of(learner), 0.001)
    assert found.left_out["seed-stability"] == float("inf")
    assert learner.fits == 0
    assert "seed-stability (no time to see how long fitting again takes)" in said
    assert found.seconds < float("inf")


def test_a_rationale_model_is_not_fitted_again() -> None:
    teller = Learner(takes=5.0)
    teller.told = None  # type: ignore[attr-defined]
    planned(case_of(teller), 1000)
    assert teller.fits == 0


def test_only_explanations_that_lack_a_check_are_paid_for() -> None:
    case = case_of(Learner(remembered=10.0), Learner(remembered=100.0))

    def cost(*known: str) -> float:
        return planned(case, 1e6, known=lambda s, check: s.name in known)[0].seconds

    assert [cost(), cost("it 0"), cost("it 1"), cost("it 0", "it 1")] == [330.0, 300.0, 30.0, 0.0]


def test_without_a_budget_nothing_changes() -> None:
    settings = Settings(k=2)
    assert within(small_case(), settings, print) == (settings, None)


def test_a_plan_is_measured_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    case = small_case()
    kept = torch.zeros_like(case.valid)
    kept[:, 0] = True
    case = replace(case, subjects=(subject(case, kept),))
    heard: list[str] = []
    wide = Settings(k=2, checks=chosen("default"), budget=1e6, begun=time.perf_counter())
    settings, found = within(case, wide, heard.append)
    assert found is not None
    assert settings.checks == wide.checks
    assert found.seconds > 0
    assert len(heard) == 1
    narrow, found = within(case, replace(wide, budget=0.001), heard.append)
    assert set(DECIDING) <= set(narrow.checks) < set(wide.checks)
    assert heard[-1].endswith("the checks that a verdict needs are run all the same")
