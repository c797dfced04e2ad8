"""Runs are resumable, rows are not measured twice, and the summary follows the JSON contract."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from unmask.audit import CHECKS
from unmask.errors import InputError, UnmaskWarning
from unmask.explainers.meed import MEED
from unmask.reproduce import judging, running, tables
from unmask.reproduce.measuring import Trial
from unmask.reproduce.running import Request, run, seeds_apart, seeds_stored, stored, tables_so_far
from unmask.writing import add_line

CONTRACT = {"table", "dataset", "row", "metric", "paper", "here", "low", "high", "seeds", "better", "note"}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measuring stands still: the value of a row is the length of its key; what was asked for is listed."""
    asked: list[str] = []

    def measure(trial: Trial, cache: Path) -> dict[str, Any]:
        asked.append(trial.key)
        value = float(len(trial.key)) + trial.seed
        metrics = [
            m for m in (*trial.metrics, "fs-m@class=a") if m not in ("reading", "encoding-share")
        ]  # judges' work
        values = {m: [value, value - 1, value + 1] for m in metrics}
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


def test_what_was_kept_but_never_measured_is_not_trusted(tmp_path: Path, measured: list[str]) -> None:
    request = Request("meed", "3", rows=("l2x",), scale="quick", jobs=1, folder=tmp_path)
    (trial,) = request.trials()
    kept = running.kept_in(trial, tmp_path / ".models")
    kept.mkdir(parents=True)
    run(request)
    assert not kept.exists()
    kept.mkdir(parents=True)
    run(request)  # it is measured now
    assert kept.exists()


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
    assert [key.split()[4] for key in measured[len(before) :]] == ["meed", "gradient"]  # random came first, then mimic


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


def test_what_was_drawn_stays_where_a_later_line_draws_nothing(tmp_path: Path) -> None:
    trial = request_for(tmp_path, rows=("meed",)).trials()[0]
    lines = [
        {"key": trial.key, "values": {"fs-m": [1, 0, 2]}, "points": [[0.5, 0.1]], "curve": [3]},
        {"key": trial.key, "values": {"fu-m": [1, 0, 2]}, "points": [], "curve": [4]},
    ]
    (tmp_path / "imdb-default.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    found = stored(tmp_path, [trial])[trial.key]
    assert (found["points"], found["curve"]) == ([[0.5, 0.1]], [4])


def test_a_line_that_was_cut_off_is_not_there_and_makes_room(tmp_path: Path) -> None:
    trial = request_for(tmp_path, rows=("meed",)).trials()[0]
    path, whole = tmp_path / "imdb-default.jsonl", json.dumps({"key": trial.key, "values": {"fs-m": [1, 0, 2]}})
    path.write_text(f"{whole}\n{whole[:30]}")
    with pytest.warns(UnmaskWarning, match="was cut off: what it held is measured again"):
        assert list(stored(tmp_path, [trial])) == [trial.key]
    add_line(path, whole)
    assert path.read_text() == f"{whole}\n{whole}\n"
    path.write_text(f"{whole[:30]}\n{whole}\n")
    with pytest.raises(InputError, match=r"line 1 of .* is no result"):
        stored(tmp_path, [trial])


def test_what_only_the_paper_has_is_no_row_of_ours(tmp_path: Path) -> None:
    """A row that another table measured, with none of the metrics of this one."""
    request = request_for(tmp_path, paper="meed", table="sanity", rows=("meed",))
    line = {"key": request.trials()[0].key, "values": {"fs-m": [1, 0, 2]}, "n": 10}
    (tmp_path / "imdb-default.jsonl").write_text(json.dumps(line) + "\n")
    assert tables_so_far(request)["rows"] == []


def test_nothing_measured_gives_empty_tables(tmp_path: Path) -> None:
    assert tables_so_far(request_for(tmp_path))["rows"] == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paper": "mede"}, "unknown paper 'mede'; did you mean 'meed'"),
        ({"table": "9"}, "shortcuts has no table '9' here; there are: 1, 2, 3"),
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


def test_rows_about_attention_are_measured_their_own_way(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []

    def attended(trial: Trial, cache: Path) -> dict[str, Any]:
        trained.append(trial.row)
        return {"key": trial.key, "values": {"accuracy": [90.0, 89.0, 91.0], "constants": [50.0, 49.0, 51.0]}, "n": 9}

    monkeypatch.setitem(running.MEASURES, "attention", attended)
    result = run(request_for(tmp_path, table="1", scale="quick"))
    assert trained == ["none/pooling", "none/rcnn", "attention/pooling", "attention/rcnn"]
    assert measured == []
    line = next(x for x in result["rows"] if (x["row"], x["metric"]) == ("attention/rcnn", "constants"))
    assert (line["paper"], line["here"]) == (48.9, 50.0)
    run(request_for(tmp_path, table="1", scale="quick"))
    assert len(trained) == 4
    assert {t.table.name for t in Request("shortcuts", scale="quick", folder=tmp_path).trials()} == {"1", "2", "3"}


def test_a_row_of_two_tables_is_measured_once_with_the_metrics_of_both(tmp_path: Path, measured: list[str]) -> None:
    """Table 1 wants fresh networks, the sanity table refits: neither has all the metrics of the other."""
    request = Request("meed", dataset="imdb", rows=("meed",), jobs=1, folder=tmp_path)
    result = run(request)
    assert len(measured) == len(set(measured)) == 1
    found = {(line["table"], line["metric"]) for line in result["rows"] if line["here"] is not None}
    assert {("1", "fs-a"), ("sanity", "randomized-model")} <= found


def test_directions_are_those_of_the_audit(tmp_path: Path, measured: list[str]) -> None:
    found = run(Request("meed", "3", rows=("gradient",), jobs=1, folder=tmp_path))["rows"]
    directions = {line["metric"]: line["better"] for line in found}
    assert (directions["fs-a"], directions["fu-m"], directions["sen"]) == ("higher", "lower", "lower")
    assert directions["approximator"] == "none"
    assert CHECKS["reading"].better == "higher"


def test_one_row_that_fails_does_not_stop_the_others(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    working = running.measure

    def broken(trial: Trial, cache: Path) -> dict[str, Any]:
        if trial.row == "meed":
            raise ValueError("no luck")
        return working(trial, cache)

    monkeypatch.setattr(running, "measure", broken)
    said: list[str] = []
    result = run(request_for(tmp_path, rows=("random", "meed", "mimic")), say=said.append)
    assert [key.split()[4] for key in result["failed"]] == ["meed"]
    assert any("failed: ValueError: no luck" in line for line in said)
    assert {line["row"] for line in result["rows"]} == {"mimic"}
    monkeypatch.setattr(running, "measure", working)
    assert run(request_for(tmp_path, rows=("random", "meed", "mimic")))["failed"] == {}


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch, measured: list[str]) -> list[list[str]]:
    """Measuring keeps an empty folder for each explainer; each panel reads otherwise; who was read is listed."""
    asked: list[list[str]] = []
    quick = running.measure

    def measure(trial: Trial, cache: Path) -> dict[str, Any]:
        judging.kept_in(trial, cache).mkdir(parents=True, exist_ok=True)
        return quick(trial, cache)

    def audited(table: Any, rows: list[str], seed: int, scale: str, cache: Path) -> dict[str, Any]:
        asked.append(rows)
        value = 91.0 - len(asked)
        return {row: {"reading": [value, value - 1, value + 1]} for row in rows}

    monkeypatch.setattr(running, "measure", measure)
    monkeypatch.setattr(judging, "audited", audited)
    return asked


def front(folder: Path, *rows: str, paper: str = "mimic", table: str = "front") -> Request:
    return request_for(folder, paper=paper, table=table, dataset="mnist-3-8", rows=rows)


def readings(result: dict[str, Any]) -> dict[str, float]:
    return {line["row"]: line["here"] for line in result["rows"] if line["metric"] == "reading"}


def test_one_panel_reads_all_rows_of_a_table(tmp_path: Path, measured: list[str], panels: list[list[str]]) -> None:
    """A row that comes later has all of them read again, so that readings of a table can be compared."""
    result = run(front(tmp_path, "random", "meed"))
    assert (len(measured), panels) == (2, [["random", "meed"]])
    assert readings(result) == {"meed": 90.0}
    run(front(tmp_path, "random", "meed"))
    assert (len(measured), len(panels)) == (2, 1)
    result = run(front(tmp_path, "random", "meed", "mimic"))
    assert panels[1] == ["random", "meed", "mimic"]
    assert readings(result) == {"meed": 89.0, "mimic": 89.0}
    assert not any("panels" in line["note"] for line in result["rows"])


def test_the_share_alone_is_reason_enough_to_ask_judges(
    tmp_path: Path, measured: list[str], panels: list[list[str]]
) -> None:
    run(replace(front(tmp_path, "random", "meed"), metrics=("encoding-share",)))
    assert panels == [["random", "meed"]]


def test_rows_at_hand_are_read_although_they_were_not_asked_for(
    tmp_path: Path, measured: list[str], panels: list[list[str]]
) -> None:
    run(front(tmp_path, "meed"))
    run(front(tmp_path, "mimic"))
    assert panels == [["meed"], ["meed", "mimic"]]
    assert readings(run(front(tmp_path, "meed", "mimic"))) == {"meed": 89.0, "mimic": 89.0}


def test_what_is_no_longer_kept_is_fitted_again_to_be_read(
    tmp_path: Path, measured: list[str], panels: list[list[str]]
) -> None:
    """Results are in version control, fitted explainers are not: a fresh copy must be able to go on."""
    run(front(tmp_path, "random", "meed"))
    shutil.rmtree(tmp_path / ".models")
    run(front(tmp_path, "random", "meed"))
    assert len(measured) == 2  # all is read: nothing is left to do
    run(front(tmp_path, "random", "meed", "mimic"))
    assert [key.split()[4] for key in measured[2:]] == ["mimic", "meed"]
    assert panels[1] == ["random", "meed", "mimic"]


def test_what_another_paper_measured_is_fitted_again_to_be_read(
    tmp_path: Path, measured: list[str], panels: list[list[str]]
) -> None:
    run(front(tmp_path, "random", "meed", paper="meed", table="3"))
    shutil.rmtree(tmp_path / ".models")
    result = run(front(tmp_path, "random", "meed"))
    assert len(measured) == 3
    assert {line["better"] for line in result["rows"] if line["metric"] == "reading"} == {"higher"}


def test_a_table_read_by_several_panels_says_so(tmp_path: Path, measured: list[str], panels: list[list[str]]) -> None:
    run(front(tmp_path, "random", "meed"))
    shutil.rmtree(tmp_path / ".models")
    run(front(tmp_path, "random", "mimic"))  # meed is not at hand
    result = tables_so_far(front(tmp_path, "random", "meed", "mimic"))
    assert readings(result) == {"meed": 90.0, "mimic": 89.0}
    assert all("Readings come from 2 panels" in line["note"] for line in result["rows"])


def test_judges_that_fail_do_not_stop_the_run(
    tmp_path: Path, measured: list[str], panels: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise InputError("no judges today")

    monkeypatch.setattr(judging, "audited", broken)
    said: list[str] = []
    result = run(front(tmp_path, "random", "meed"), say=said.append)
    assert result["failed"] == {"readings of front, mnist-3-8, seed 0": "no judges today"}
    assert any("no judges today" in line for line in said)
    assert {line["metric"] for line in result["rows"]} >= {"fs-m", "fu-m"}


def test_the_rows_behind_a_metric_are_its_own(tmp_path: Path, measured: list[str]) -> None:
    trial = front(tmp_path, "meed", paper="meed", table="3").trials()[0]
    values = {name: [1.0, 0.0, 2.0] for name in ("fs-m", "sen")}
    running._file(tmp_path, trial.table, trial.scale).write_text(
        json.dumps({"key": trial.key, "values": values, "n": 1984}) + "\n"
    )
    found = tables_so_far(front(tmp_path, "meed", paper="meed", table="3"))["rows"]
    assert {line["metric"]: line["n"] for line in found if line["here"] is not None} == {"fs-m": 1984, "sen": 100}


def test_all_seeds_that_are_stored_are_counted(tmp_path: Path, measured: list[str]) -> None:
    assert seeds_stored(tmp_path, "default") == 1
    run(request_for(tmp_path, rows=("gradient",), seeds=3))
    run(request_for(tmp_path, rows=("random",)))
    assert seeds_stored(tmp_path, "default") == 3
    assert seeds_stored(tmp_path, "quick") == 1


def test_other_settings_are_another_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = request_for(tmp_path, rows=("meed",)).trials()[0].key
    monkeypatch.setitem(tables.FORMS, "meed", tables.Form("meed", {"tau": 0.4}))
    assert request_for(tmp_path, rows=("meed",)).trials()[0].key != before


def test_other_defaults_of_a_method_are_another_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = request_for(tmp_path, rows=("meed",)).trials()[0].key
    monkeypatch.setattr(MEED.__init__, "__defaults__", (0.4, *(MEED.__init__.__defaults__ or ())[1:]))
    assert request_for(tmp_path, rows=("meed",)).trials()[0].key != before


def test_points_of_models_from_other_seeds_are_found_again(tmp_path: Path) -> None:
    request = Request("seat", table="seeds", folder=tmp_path)
    trial = next(t for t in request.trials() if t.table.dataset == "sst2")
    line = {"key": trial.key, "values": {"jsd-seeds": [0.1, 0.0, 0.2]}, "points": [[0.3, 0.1]]}
    running._file(tmp_path, trial.table, trial.scale).write_text(json.dumps(line) + "\n")
    assert seeds_apart(request) == {"sst2": {trial.row: [[0.3, 0.1]]}}


def test_a_row_of_another_table_with_other_metrics_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def steadied(trial: Trial, cache: Path) -> dict[str, Any]:
        asked.append(trial.table.metrics)
        return {"key": trial.key, "values": {m: [0.5, 0.4, 0.6] for m in trial.table.metrics}, "n": 9}

    monkeypatch.setitem(running.MEASURES, "steady", steadied)
    one, three = (
        Request("seat", table=name, dataset="sst2", rows=("seat/rnn",), folder=tmp_path, jobs=1) for name in ("1", "3")
    )
    for request in (one, three, one, three):
        run(request)
    assert asked == [one.tables()[0].metrics, three.tables()[0].metrics]
    values = stored(tmp_path, one.trials())[one.trials()[0].key]["values"]
    assert {"jsd", "jsd-words"} <= set(values)


def test_lines_of_a_claim_say_whether_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading is that of the interval: over test rows with one seed, over seeds with several."""

    def criticized(trial: Trial, cache: Path) -> dict[str, Any]:
        value = 80.0 + 15 * trial.seed
        values = {"overlap": [value, value - 1, value + 1], "drop": [5.0, 1.0, 9.0], "correlation": None}
        return {"key": trial.key, "values": values, "n": 9}

    monkeypatch.setitem(running.MEASURES, "critique", criticized)
    request = Request("critique", "lime-kernel", rows=("width=3",), folder=tmp_path, jobs=1)
    found = {line["metric"]: line for line in run(request)["rows"]}
    assert set(found["overlap"]) >= {*CONTRACT, "claim", "bar", "reading"}
    assert (found["overlap"]["bar"], found["overlap"]["reading"]) == (["below", 90.0], "holds")
    assert (found["drop"]["bar"], found["drop"]["reading"]) == (["above", 0.0], "holds")
    assert (found["correlation"]["bar"], found["correlation"]["here"]) == (None, None)
    two = run(Request("critique", "lime-kernel", rows=("width=3",), folder=tmp_path, jobs=1, seeds=2))["rows"]
    assert {line["metric"]: line["reading"] for line in two} == {
        "overlap": "open",
        "drop": "holds",
        "correlation": None,
    }


def test_judges_that_break_leave_the_table_of_all_that_was_measured(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(running, "read", broken)
    monkeypatch.setattr(running, "unread", lambda trials, done: {(trials[0].table, 0)})
    result = run(request_for(tmp_path, rows=("random", "meed")))
    assert result["rows"]
    assert [why for name, why in result["failed"].items() if name.startswith("readings of")] == [
        "RuntimeError: no memory"
    ]


def test_two_runs_of_a_paper_do_not_share_a_folder(tmp_path: Path, measured: list[str]) -> None:
    with running._alone(request_for(tmp_path)):
        with pytest.raises(InputError, match=r"shortcuts is being measured in .* already"):
            run(request_for(tmp_path, rows=("random",)))
        run(request_for(tmp_path / "other", rows=("random",)))
    assert len(measured) == 1
    run(request_for(tmp_path, rows=("random",)))
    assert len(measured) == 2
