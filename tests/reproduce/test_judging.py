"""Groups that wait for judges, what they read, and when panels differ. How runs use this: test_running.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unmask.reproduce import judging
from unmask.reproduce.judging import is_read, mixed, read, unread, with_readings
from unmask.reproduce.measuring import Trial, kept_in
from unmask.reproduce.tables import Table

TABLE = Table("front", "digits", "image", 8, "zero", ("fs-m", "reading"), ("random", "l2x", "mimic"))
PLAIN = Table("1", "digits", "image", 8, "zero", ("fs-m",), ("random", "l2x"))


def trial(row: str, table: Table = TABLE) -> Trial:
    return Trial(table, row, 0, "default")


def told(value: float, *panel: str) -> dict[str, Any]:
    return {"values": {"fs-m": [1, 0, 2]}, "read": {"front": {"panel": list(panel), "values": {"reading": value}}}}


def test_a_table_waits_while_a_row_of_it_is_not_read() -> None:
    trials = [trial("random"), trial("mimic"), trial("l2x", PLAIN)]
    done = {trial("random").key: told(50, "random")}
    assert is_read(trials[0], done)
    assert not is_read(trials[1], done)
    assert unread(trials, done) == {(TABLE, 0)}
    assert unread(trials, {**done, trial("mimic").key: told(90, "random", "mimic")}) == set()
    assert unread(trials[2:], {}) == set()  # it has no readings


def test_readings_are_those_of_the_table() -> None:
    assert with_readings(told(90, "mimic"), TABLE) == {"fs-m": [1, 0, 2], "reading": 90}
    assert with_readings(told(90, "mimic"), PLAIN) == {"fs-m": [1, 0, 2]}
    assert with_readings({"values": {"fs-m": [1, 0, 2]}}, TABLE) == {"fs-m": [1, 0, 2]}


def test_panels_are_compared_within_a_seed() -> None:
    one, other = told(90, "random", "mimic"), told(80, "random", "l2x")
    assert mixed(TABLE, [[one, one], [other]]) == ""
    assert mixed(TABLE, [[one, other]]).startswith("Readings come from 2 panels")
    assert mixed(PLAIN, [[one, other]]) == ""


def test_only_what_is_measured_and_at_hand_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def audited(table: Table, rows: list[str], *_: Any) -> dict[str, Any]:
        asked.append(rows)
        return {row: {"reading": [70.0, 69.0, 71.0]} for row in rows}

    monkeypatch.setattr(judging, "audited", audited)
    done = {trial(row).key: {"values": {}} for row in ("random", "l2x", "mimic")}
    kept_in(trial("l2x"), tmp_path).mkdir(parents=True)
    lines = list(read((TABLE, 0), "default", done, tmp_path))
    assert asked == [["random", "l2x"]]
    assert [line["key"] for line in lines] == [trial("random").key, trial("l2x").key]
    assert lines[0]["read"]["front"] == {"panel": ["random", "l2x"], "values": {"reading": [70.0, 69.0, 71.0]}}
    assert list(read((TABLE, 0), "default", {}, tmp_path)) == []
