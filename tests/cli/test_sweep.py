"""The command `sweep`: a plan to start from, what came out, and what failed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.conftest import Run, refused
from unmask.sweep import example, running
from unmask.sweep.cell import Cell, Place
from unmask.sweep.plan import as_plan

PLAN = """
datasets = [{ data = "rows.csv", label = "label" }]
models = [{ model = "usermodels:ready" }]
methods = ["occlusion", "lime"]
seeds = 2
checks = ["fs-m,fu-m"]
k = 2
verdicts = false
"""


@pytest.fixture
def plan(place: Path) -> Path:
    """The user's plan, in a folder that is not the current one: paths are seen from the plan."""
    folder = place / "plans"
    folder.mkdir()
    for name in ("rows.csv", "usermodels.py"):
        (place / name).rename(folder / name)
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return folder / "plan.toml"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks in a moment; LIME has no luck."""

    def measure(cell: Cell, place: Place, key: str) -> dict[str, Any]:
        if cell.name == "lime":
            raise ValueError("no luck")
        rows = [{"explanation": cell.name, "check": check, "value": 0.5} for check in cell.checks]
        return {"label": cell.label, "rows": rows, "verdict": None}

    monkeypatch.setattr(running, "measure", measure)


def test_the_example_is_printed_as_it_is(run: Run) -> None:
    assert run("sweep", "--example").out == example()


def test_the_plan_in_the_help_can_be_run(run: Run) -> None:
    lines = [line.strip() for line in run("sweep", "--help").out.splitlines()]
    text = "\n".join(line for line in lines if " = " in line)
    plan = as_plan(tomllib.loads(text))
    assert (len(plan.datasets), len(plan.methods), len(plan.seeds), plan.k) == (2, 2, 3, 4)


def test_tasks_are_listed(run: Run, plan: Path) -> None:
    listed = json.loads(run("sweep", str(plan), "--list", "--json").out)
    assert [row["state"] for row in listed] == ["to do"] * 4
    assert listed[0]["task"] == "rows.csv usermodels:ready occlusion seed=0 fs-m,fu-m"
    assert not Path("sweep").exists()


@pytest.mark.usefixtures("measured")
def test_what_failed_is_the_error_and_the_rest_is_kept(run: Run, plan: Path) -> None:
    ended = run("sweep", str(plan), "--jobs", "1", "--out", "runs")
    assert "2 of 4 tasks are done, 2 were measured now" in ended.out
    assert "written: runs/results.parquet" in ended.out
    said = refused(ended)
    first = "rows.csv usermodels:ready lime seed=0 fs-m,fu-m (and 1 more)"
    assert said == f"2 tasks failed, the others are kept: {first}: ValueError: no luck"
    again = run("sweep", str(plan), "--jobs", "1", "--out", "runs", "--json")
    told = json.loads(again.out)
    assert (told["done"], told["measured"], len(told["failed"])) == (2, 0, 2)
    assert told["summary"][0]["means"] == {"fs-m": 0.5, "fu-m": 0.5}
    assert set(pd.read_parquet(told["results"])["method"]) == {"occlusion"}


def test_ctrl_c_says_where_results_are(run: Run, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(cell: Cell, place: Place, key: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "measure", stop)
    ended = run("sweep", str(plan), "--jobs", "1")
    assert ended.code == 130
    assert ended.err == "stopped: the finished tasks are kept in sweep; run the same command again to go on\n"


@pytest.mark.slow
def test_your_own_model_and_file_are_swept(run: Run, plan: Path) -> None:
    plan.write_text(PLAN.replace(', "lime"', "").replace("seeds = 2", "seeds = 1"), encoding="utf-8")
    ended = run("sweep", str(plan), "--jobs", "1")
    assert ended.code == 0, ended.err
    frame = pd.read_parquet("sweep/results.parquet").set_index("check")
    assert frame.loc["fs-m", "value"] > 0.9  # two columns decide, and two are kept
    assert frame.loc["fs-m", "null"] < 0.8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say which plan: unmask sweep plan.toml; unmask sweep --example prints one to start from"),
        (["none.toml"], "cannot read the plan none.toml: No such file or directory"),
        (["plans/plan.toml", "--backend", "rai"], "unknown backend 'rai'; did you mean 'ray'?"),
        (["plans/plan.toml", "--gpus", "0.5"], "gpus is for the backend ray"),
        (["plans/plan.toml", "--limit", "soon"], "a limit is a time such as 60s, 5m or 1h, got 'soon'"),
        (["plans/plan.toml", "--out", "plans/plan.toml"], "cannot write into plans/plan.toml"),
    ],
)
@pytest.mark.usefixtures("plan")
def test_mistakes_are_one_line(run: Run, words: list[str], said: str) -> None:
    assert refused(run("sweep", *words)).startswith(said)
