"""What is done is not done again, what fails is listed, and the table holds every number once."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from unmask.errors import InputError
from unmask.sweep import running
from unmask.sweep.cell import Cell, Place
from unmask.sweep.engine import Workers
from unmask.sweep.plan import Plan, as_plan
from unmask.sweep.running import TABLE, listed, sweep

HERE = Workers(jobs=1)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """Nothing is trained: the value of a task is a formula of it; what was asked for is listed."""
    asked: list[Cell] = []

    def measure(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        asked.append(cell)
        value = cell.source.seed + cell.settings.get("tau", 0.5)
        rows = [{"explanation": cell.name, "check": check, "value": value, "better": "higher"} for check in cell.checks]
        return {"label": cell.label, "rows": rows, "verdict": "trust" if cell.verdicts else None}

    monkeypatch.setattr(running, "measure", measure)
    return asked


def plan(**changed: Any) -> Plan:
    given = {"datasets": ["xor"], "methods": ["l2x", "occlusion"], "k": 2, "seeds": 2, "checks": ["fs-m", "fu-m"]}
    return as_plan({**given, **changed})


def test_tasks_that_are_done_are_not_done_again(tmp_path: Path, measured: list[Cell]) -> None:
    first = sweep(plan(), tmp_path, HERE)
    assert (first["tasks"], first["done"], first["measured"], len(measured)) == (8, 8, 8, 8)
    again = sweep(plan(), tmp_path, HERE)
    assert (again["done"], again["measured"], len(measured)) == (8, 0, 8)
    assert again["summary"] == first["summary"]
    assert sweep(plan(seeds=3), tmp_path, HERE)["measured"] == 4
    json.dumps(first)


def test_the_table_holds_each_number_once_in_the_order_of_the_plan(tmp_path: Path, measured: list[Cell]) -> None:
    sweep(plan(), tmp_path / "a", HERE)
    frame = pd.read_parquet(tmp_path / "a" / TABLE)
    assert len(frame) == 8
    assert not frame.duplicated(["key", "check", "at"]).any()
    assert frame.groupby("seed")["value"].mean().tolist() == [0.5, 1.5]
    sweep(plan(seeds=[1]), tmp_path / "b", HERE)
    sweep(plan(), tmp_path / "b", HERE)  # done in another order
    assert pd.read_parquet(tmp_path / "b" / TABLE).equals(frame)


def test_what_is_cut_short_goes_on(tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    working = running.measure

    def cut(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        if len(measured) == 3:
            raise KeyboardInterrupt
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", cut)
    with pytest.raises(KeyboardInterrupt):
        sweep(plan(), tmp_path, HERE)
    assert len(pd.read_parquet(tmp_path / TABLE)) == 3
    monkeypatch.setattr(running, "measure", working)
    assert sweep(plan(), tmp_path, HERE)["measured"] == 5


def test_a_result_that_cannot_be_read_is_measured_again(tmp_path: Path, measured: list[Cell]) -> None:
    sweep(plan(), tmp_path, HERE)
    next((tmp_path / "tasks").iterdir()).write_text('{"rows": [')
    assert sweep(plan(), tmp_path, HERE)["measured"] == 1


def test_what_fails_is_tried_again_and_listed(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    working, tries = running.measure, list[str]()

    def broken(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        if cell.name == "occlusion" and cell.source.seed == 1:
            tries.append(cell.label)
            raise ValueError("no luck")
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", broken)
    said: list[str] = []
    result = sweep(plan(checks=["fs-m"]), tmp_path, HERE, say=said.append)
    label = "xor reference occlusion seed=1 fs-m"
    assert tries == [label, label]
    assert result["failed"] == [{"task": label, "why": "ValueError: no luck"}]
    assert (result["tasks"], result["done"]) == (4, 3)
    told = [line for line in said if "no luck" in line]
    assert told == [
        f"failed once, and is tried again at the end: {label}: ValueError: no luck",
        f"failed: {label}: ValueError: no luck",
    ]
    monkeypatch.setattr(running, "measure", working)
    assert sweep(plan(checks=["fs-m"]), tmp_path, HERE)["failed"] == []


def test_tasks_are_listed_with_what_is_done(tmp_path: Path, measured: list[Cell]) -> None:
    sweep(plan(seeds=1), tmp_path, HERE)
    states = [row["state"] for row in listed(plan(), tmp_path)]
    assert (states.count("done"), states.count("to do")) == (4, 4)
    tuned = listed(plan(tune={"trials": 2}), tmp_path)
    assert {row["state"] for row in tuned if "l2x" in row["task"]} == {"searched first"}


def test_settings_are_searched_first_once_for_all_groups_of_checks(tmp_path: Path, measured: list[Cell]) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")
    searching = plan(tune={"trials": 5, "at_once": 2})
    result = sweep(searching, tmp_path, HERE)
    trials = [cell for cell in measured if cell.split == "validation"]
    assert {cell.method for cell in trials} == {"l2x"}
    assert len(trials) == 5 * 2  # of each seed
    best = {seed: max(c.settings["tau"] for c in trials if c.source.seed == seed) for seed in (0, 1)}
    frame = pd.read_parquet(tmp_path / TABLE)
    learned = frame[frame["method"] == "l2x"]
    assert set(learned["split"]) == {"test"}
    assert {(s, json.loads(t)["tau"]) for s, t in zip(learned["seed"], learned["settings"], strict=True)} == set(
        best.items()
    )
    assert [found["settings"]["tau"] for found in result["tuned"]] == list(best.values())
    before = len(measured)
    assert sweep(searching, tmp_path, HERE)["tuned"] == result["tuned"]
    assert len(measured) == before


def test_trials_that_fail_are_no_failed_tasks(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")
    working = running.measure

    def diverging(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        if cell.split == "validation" and cell.settings["tau"] > 0.6:
            raise ValueError("diverged")
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", diverging)
    result = sweep(plan(methods=["l2x"], seeds=1, tune={"trials": 8}), tmp_path, HERE)
    assert result["failed"] == []
    assert result["done"] == result["tasks"] == 2
    passed_over = result["trials passed over"]
    assert len(passed_over) > 1  # each by its settings
    assert all("tau=" in found["trial"] and found["why"] == "ValueError: diverged" for found in passed_over)


def test_a_search_that_is_cut_short_leaves_the_table_as_it_was(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")
    tune = {"trials": 3}
    sweep(plan(seeds=1, tune=tune), tmp_path, HERE)
    before = pd.read_parquet(tmp_path / TABLE)
    said: list[str] = []
    sweep(plan(seeds=1, tune=tune), tmp_path, HERE, say=said.append)
    assert "4 tasks, 4 of them done before" in said

    def stop(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        sweep(plan(seeds=2, tune=tune), tmp_path, HERE)
    assert pd.read_parquet(tmp_path / TABLE).equals(before)


def test_a_method_may_keep_its_settings(tmp_path: Path, measured: list[Cell]) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")
    sweep(plan(methods=[{"method": "l2x", "tune": False}], tune={"trials": 2}), tmp_path, HERE)
    assert {cell.split for cell in measured} == {"test"}


def test_without_pyarrow_nothing_is_begun(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package pyarrow; run pip install \"unmask\[parquet\]\""):
        sweep(plan(), tmp_path, HERE)
    assert measured == []


def test_a_search_in_which_every_trial_fails_is_a_failure(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")
    working = running.measure

    def broken(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        if cell.split == "validation":
            raise ValueError("no luck")
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", broken)
    result = sweep(plan(methods=["l2x"], seeds=1, tune={"trials": 2}), tmp_path, HERE)
    (failed,) = result["failed"]
    assert failed["task"] == "searching settings of xor reference l2x seed=0"
    assert failed["why"] == "every trial failed, the last one so: ValueError: no luck"
    assert (result["done"], result["tasks"], result["measured"], result["trials"]) == (2, 2, 2, 0)


def test_what_another_version_found_is_said_and_measured_again(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    working = running.measure
    monkeypatch.setattr(running, "measure", lambda c, p, key: {**working(c, p, key), "configuration": asdict(c)})
    sweep(plan(), tmp_path, HERE)
    monkeypatch.setattr("unmask.sweep.cell.version", lambda name: "0.0")
    said: list[str] = []
    assert sweep(plan(seeds=3), tmp_path, HERE, say=said.append)["measured"] == 12
    assert said[0] == "12 tasks, 0 of them done before"
    assert said[1].startswith("8 more were done by another version of unmask or torch, or with other files")


def test_a_plan_that_takes_the_table_of_another_says_so(tmp_path: Path, measured: list[Cell]) -> None:
    sweep(plan(), tmp_path, HERE)
    said: list[str] = []
    sweep(plan(seeds=1), tmp_path, HERE, say=said.append)
    assert (
        f"results.parquet held tasks that are not in this plan (4); they leave it, their results stay in "
        f"{tmp_path.name}/tasks" in said
    )
    assert len(pd.read_parquet(tmp_path / TABLE)) == 4


def test_a_cluster_that_does_not_answer_leaves_all_as_it_was(tmp_path: Path, measured: list[Cell]) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install unmask[ray]")
    sweep(plan(seeds=1), tmp_path, HERE)
    before = (tmp_path / TABLE).read_bytes()
    with pytest.raises(InputError, match="no Ray cluster answers"):
        sweep(plan(), tmp_path, Workers("ray", address="127.0.0.1:1"))
    assert (tmp_path / TABLE).read_bytes() == before
    assert sweep(plan(seeds=1), tmp_path, Workers("ray", address="127.0.0.1:1"))["measured"] == 0  # nobody is needed


def test_a_log_shows_life_by_lines(tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    said: list[str] = []
    sweep(plan(seeds=1, checks=["fs-m"]), tmp_path, HERE, say=said.append)
    assert said[1:] == [f"{i} of 2: xor reference {name} seed=0 fs-m" for i, name in ((1, "l2x"), (2, "occlusion"))]


def test_what_was_measured_before_a_file_changed_is_no_result_of_the_new_one(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("a = 1\n")
    mine, working = plan(models=["mine:f"], methods=["occlusion"], seeds=2, checks=["fs-m"]), running.measure
    monkeypatch.setattr(running, "check_data", lambda cells, home: None)

    def edited(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        (tmp_path / "mine.py").write_text("a = 2\n")
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", edited)
    first = sweep(mine, tmp_path / "out", HERE, tmp_path)
    assert (first["measured"], first["done"], first["trials"]) == (2, 2, 0)
    kept = list((tmp_path / "out" / "tasks").iterdir())
    assert {json.loads(path.read_text())["key"] for path in kept} == {path.stem for path in kept}
    assert sweep(mine, tmp_path / "out", HERE, tmp_path)["measured"] == 2


def test_one_sweep_at_a_time_in_a_folder(tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch) -> None:
    working = running.measure

    def nested(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        with pytest.raises(InputError, match=r"another sweep is at work in .*; wait for it, or name another folder"):
            sweep(plan(), tmp_path, HERE)
        return working(cell, place, key)

    monkeypatch.setattr(running, "measure", nested)
    assert sweep(plan(), tmp_path, HERE)["done"] == 8
    assert sweep(plan(), tmp_path, HERE)["measured"] == 0  # and it is free again


def test_a_failed_search_tells_its_own_reason(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install unmask[tune]")

    def broken(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        raise ValueError(f"no luck with seed {cell.source.seed}")

    monkeypatch.setattr(running, "measure", broken)
    result = sweep(plan(methods=["l2x"], seeds=[1, 10], tune={"trials": 1}), tmp_path, HERE)
    searched = {found["task"]: found["why"] for found in result["failed"] if found["task"].startswith("searching")}
    for seed in (1, 10):
        assert searched[f"searching settings of xor reference l2x seed={seed}"].endswith(f"no luck with seed {seed}")


def test_data_are_found_wherever_the_command_was_started(
    tmp_path: Path, measured: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_DATA", "near")
    (tmp_path / "plans").mkdir()
    seen: list[str] = []
    monkeypatch.setattr(running, "check_data", lambda cells, home: seen.append(os.environ["UNMASK_DATA"]))
    sweep(plan(), tmp_path / "out", HERE, tmp_path / "plans")
    assert seen == [str(tmp_path / "near")]
    assert os.environ["UNMASK_DATA"] == "near"
