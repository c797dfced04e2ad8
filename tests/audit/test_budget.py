"""Which checks fit into a budget: known costs, the deciding ones first, and what is left out is said."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import torch

from audit.cases import small_case, subject
from unmask.audit import DECIDING, budget, chosen, smuggling
from unmask.audit.budget import Rates, costs, plan, seconds_of, within
from unmask.audit.subjects import Settings
from unmask.audit.work import job_of
from unmask.errors import InputError


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
