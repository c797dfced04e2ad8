"""Runs are resumable, rows are not measured twice, and the summary follows the JSON contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from unmask.errors import InputError
from unmask.reproduce import running
from unmask.reproduce.measuring import Trial
from unmask.reproduce.running import Request, run, stored, tables_so_far

CONTRACT = {"table", "dataset", "row", "metric", "paper", "here", "low", "high", "seeds", "better", "note"}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measuring stands still: the value of a row is the length of its key; what was asked for is listed."""
    asked: list[str] = []

    def measure(trial: Trial, cache: Path) -> dict[str, Any]:
        asked.append(trial.key)
        value = float(len(trial.key)) + trial.seed
        values = {m: [value, value - 1, value + 1] for m in (*trial.metrics, "fs-m@class=a")}
        return {"key": trial.key, "values": values, "readings": {}, "seconds": {"fit": 0.0, "all": 0.0}}

    monkeypatch.setattr(running, "measure", measure)
    return asked


def request_for(folder: Path, **settings: Any) -> Request:
    return Request(**{"paper": "shortcuts", "table": "3", "dataset": "imdb", "jobs": 1, "folder": folder, **settings})


def test_what_is_measured_is_kept_and_not_measured_again(tmp_path: Path, measured: list[str]) -> None:
    rows = ("random", "meed", "l2x")
    first = run(request_for(tmp_path, rows=rows))
    assert len(measured) == 3
    again = run(request_for(tmp_path, rows=rows))
    assert len(measured) == 3
    assert {k: v for k, v in first.items() if k != "seconds"} == {k: v for k, v in again.items() if k != "seconds"}
    run(request_for(tmp_path, rows=("random", "gradient")))
    assert len(measured) == 4
    run(request_for(tmp_path, rows=rows, seeds=2))
    assert len(measured) == 7


def test_a_run_cut_short_goes_on(tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    working = running.measure

    def cut(trial: Trial, cache: Path) -> dict[str, Any]:
        if trial.row == "meed":
            raise KeyboardInterrupt
        return working(trial, cache)

    monkeypatch.setattr(running, "measure", cut)
    rows = ("random", "gradient", "meed", "mimic")
    with pytest.raises(KeyboardInterrupt):
        run(request_for(tmp_path, rows=rows))
    monkeypatch.setattr(running, "measure", working)
    before = list(measured)
    run(request_for(tmp_path, rows=rows))
    assert measured[len(before) :] == [k for k in measured if " meed " in k or " mimic " in k]


def test_a_table_with_more_metrics_asks_for_what_is_missing(tmp_path: Path, measured: list[str]) -> None:
    run(request_for(tmp_path, rows=("gradient",)))
    run(request_for(tmp_path, paper="meed", table="1", rows=("gradient",)))
    assert len(measured) == 2  # fs-a was not measured for the other paper
    run(request_for(tmp_path, rows=("gradient",)))
    assert len(measured) == 2


def test_the_json_contract(tmp_path: Path, measured: list[str]) -> None:
    result = run(request_for(tmp_path, rows=("random", "l2x+feedback"), seeds=3))
    assert {"paper", "quick", "rows", "controls", "seconds", "versions"} <= set(result)
    assert {line["row"] for line in result["controls"]} == {"random"}
    line = next(x for x in result["rows"] if x["metric"] == "fs-m")
    assert set(line) >= CONTRACT
    assert (line["paper"], line["seeds"], line["better"]) == (48.8, 3, "higher")
    assert any(x["metric"] == "fs-m@class=a" for x in result["rows"])
    json.dumps(result)
    assert {x["better"] for x in result["rows"] if x["metric"] == "fu-m"} == {"lower"}


def test_intervals_over_seeds_are_those_of_t(tmp_path: Path, measured: list[str]) -> None:
    line = run(request_for(tmp_path, rows=("meed",), seeds=3))["rows"][0]
    values = line["by_seed"]
    assert values == [values[0], values[0] + 1, values[0] + 2]
    low, high = stats.t.interval(0.95, 2, loc=values[1], scale=stats.sem(values))
    assert line["here"] == pytest.approx(values[1])
    assert (line["low"], line["high"]) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    single = run(request_for(tmp_path, rows=("meed",)))["rows"][0]
    assert (single["low"], single["high"]) == (single["here"] - 1, single["here"] + 1)


def test_a_later_line_adds_to_an_earlier_one(tmp_path: Path) -> None:
    trial = request_for(tmp_path, rows=("meed",)).trials()[0]
    lines = [{"key": trial.key, "values": {"fs-m": [1, 0, 2]}}, {"key": trial.key, "values": {"reading": [3, 2, 4]}}]
    (tmp_path / "imdb-default.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    assert stored(tmp_path, [trial])[trial.key]["values"] == {"fs-m": [1, 0, 2], "reading": [3, 2, 4]}


def test_nothing_measured_gives_empty_tables(tmp_path: Path) -> None:
    assert tables_so_far(request_for(tmp_path))["rows"] == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paper": "mede"}, "unknown paper 'mede'; did you mean 'meed'"),
        ({"table": "9"}, "shortcuts has no table '9' here; there are: 3"),
        ({"dataset": "imbd"}, "unknown data set 'imbd'; did you mean 'imdb'"),
        ({"rows": ("mede",)}, "unknown row 'mede'; did you mean 'meed'"),
        ({"scale": "large"}, "unknown scale 'large'"),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        request_for(tmp_path, **settings).trials()


def test_a_quick_run_has_few_rows_and_sets(tmp_path: Path) -> None:
    quick, usual = (Request("meed", scale=scale, folder=tmp_path).trials() for scale in ("quick", "default"))
    assert len(quick) < len(usual) / 2
    assert {t.table.dataset for t in quick} == {"imdb", "fashion-pullover-shirt"}
