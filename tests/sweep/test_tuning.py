"""The search finds what is best on validation rows, the same way each time, and never what the audit rejects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unmask.cli.sources import Source
from unmask.errors import InputError
from unmask.methods import make
from unmask.sweep.cell import Cell
from unmask.sweep.plan import Range, Tune
from unmask.sweep.tuning import SPACES, Search, space_of, value_of

pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")

CELL = Cell(Source("reference", "xor"), "l2x", "l2x", 2)
WIDE = Tune(trials=12, at_once=3, space={"l2x": {"tau": Range(0.1, 10.0, log=True)}})


def result(value: float | None, verdict: str = "trust", check: str = "fs-m") -> dict[str, Any]:
    return {"rows": [{"check": check, "value": value}], "verdict": verdict}


def searched(
    tune: Tune, cell: Cell = CELL, check: str = "fs-m", reject_above: float = 99.0
) -> tuple[Search, list[float]]:
    """A search for tau near 3; what lies above a bound is rejected, however good."""
    search, tried = Search(cell, tune), list[float]()
    sign = 1 if check == "fs-m" else -1
    while wave := search.ask():
        taus = [cell.settings["tau"] for cell in wave]
        tried += taus
        search.tell([result(-sign * abs(t - 3), "reject" if t > reject_above else "care", check) for t in taus])
    return search, tried


def test_trials_are_audits_on_validation_rows() -> None:
    wave = Search(CELL, WIDE).ask()
    assert len(wave) == 3
    assert {(cell.split, cell.checks, cell.verdicts) for cell in wave} == {("validation", ("fs-m",), True)}


def test_the_best_wins_and_the_own_settings_are_tried_first() -> None:
    search, tried = searched(WIDE)
    assert (len(tried), tried[0]) == (12, 0.5)
    settings, value = search.best()
    assert settings["tau"] == min(tried, key=lambda tau: abs(tau - 3))
    assert value == pytest.approx(-abs(settings["tau"] - 3))


def test_the_same_seed_searches_the_same_way() -> None:
    first, again = searched(WIDE)[1], searched(WIDE)[1]
    other = searched(WIDE, replace(CELL, source=replace(CELL.source, seed=1)))[1]
    assert first == again != other


def test_a_check_whose_lower_values_are_better_is_minimised() -> None:
    search, tried = searched(replace(WIDE, aim="fu-m"), check="fu-m")
    assert search.best()[0]["tau"] == min(tried, key=lambda tau: abs(tau - 3))


def test_what_is_rejected_never_wins() -> None:
    search, tried = searched(WIDE, reject_above=1.0)
    assert any(tau > 1 for tau in tried)
    assert search.best()[0]["tau"] == max(tau for tau in tried if tau <= 1)
    assert searched(WIDE, reject_above=0.0)[0].best() == ({}, None)


def test_trials_that_fail_are_passed_over() -> None:
    search = Search(CELL, replace(WIDE, trials=3))
    search.ask()
    search.tell([None, result(0.2), result(None)])
    assert search.best()[1] == 0.2
    assert search.ask() == []


def test_classes_count_alike() -> None:
    rows = [
        {"check": "fs-m", "value": 0.9},
        {"check": "fs-m@class=a", "value": 1.0},
        {"check": "fs-m@class=b", "value": 0.5},
    ]
    assert value_of({"rows": rows}, "fs-m") == 0.75
    assert value_of({"rows": rows[:1]}, "fs-m") == 0.9
    assert value_of({"rows": rows}, "fu-m") is None


@pytest.mark.parametrize("method", sorted(SPACES))
def test_what_is_searched_can_be_set(method: str) -> None:
    cell = Cell(Source("reference", "xor"), method, method, 2)
    space = space_of(cell, Tune())
    assert space == SPACES[method]
    for at in ("low", "high"):
        make(method, 2, settings={name: getattr(among, at) for name, among in space.items()})
    first = Search(cell, Tune()).ask()[0].settings
    own = {name: getattr(make(method, 2), name) for name in space}
    assert first == own or None in own.values()  # a price that is None depends on the method: it is drawn


def test_what_a_plan_fixes_is_not_searched() -> None:
    fixed = replace(CELL, settings={"tau": 0.7})
    assert space_of(fixed, Tune()) == {}
    assert space_of(replace(CELL, method="occlusion", settings={}), Tune()) == {}


def test_a_space_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="unknown setting of l2x to search 'taw'; did you mean 'tau'"):
        space_of(CELL, Tune(space={"l2x": {"taw": [1]}}))
    with pytest.raises(InputError, match=r"tune.space.l2x.tau is empty"):
        space_of(CELL, Tune(space={"l2x": {"tau": []}}))


def test_a_whole_number_is_searched_in_whole_numbers() -> None:
    cell = replace(CELL, method="kernel-shap", name="kernel-shap")
    tune = Tune(trials=8, at_once=8, space={"kernel-shap": {"samples": Range(30, 90)}})
    found = [trial.settings["samples"] for trial in Search(cell, tune).ask()]
    assert all(type(samples) is int and 30 <= samples <= 90 for samples in found)
    assert len(set(found)) > 3
    with pytest.raises(InputError, match=r"samples is a whole number, so its range goes .*; got 30.5 and 90"):
        space_of(cell, Tune(space={"kernel-shap": {"samples": Range(30.5, 90)}}))


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"k": [1, 2]}, "tune.space.l2x.k: unknown setting of l2x 'k'"),
        ({"draw": ["k-hot", "nosuch"]}, "tune.space.l2x.draw: .*nosuch"),
        ({"tau": Range(-1.0, 1.0)}, "tune.space.l2x.tau: tau must be above 0"),
    ],
)
def test_what_the_method_would_refuse_is_refused_before_any_trial(space: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        space_of(CELL, Tune(space={"l2x": space}))
