"""One line for each number, typed the same way always."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from unmask.cli.sources import Source
from unmask.sweep.cell import Cell
from unmask.sweep.table import COLUMNS, keys_in, rows_of, summary_of, write_table


def lines(seed: int, verdict: str | None = "trust") -> list[dict[str, Any]]:
    cell = Cell(Source("reference", "xor", seed=seed), "l2x", "mine", 2, {"tau": 0.5}, ("fs-m",))
    row = {"explanation": "mine", "check": "fs-m", "value": 0.5 + seed, "better": "higher", "n": 9}
    rows = [row, {**row, "check": "fs-m@class=a", "value": 0.1}, {**row, "value": 0.2, "at": 3.0}]
    return list(rows_of(cell, f"key{seed}", {"rows": rows, "verdict": verdict, "device": "cpu"}))


def test_a_line_says_what_it_is_about() -> None:
    first = lines(1)[0]
    assert tuple(first) == COLUMNS
    known = [first[name] for name in ("key", "dataset", "model", "method", "name", "settings", "seed", "device")]
    assert known == ["key1", "xor", "reference", "l2x", "mine", '{"tau": 0.5}', 1, "cpu"]
    assert (first["check"], first["value"]) == ("fs-m", 1.5)


def test_types_do_not_depend_on_what_is_there(tmp_path: Path) -> None:
    for name, rows in {"full": [*lines(0), *lines(1)], "none": [], "bare": lines(0, None)}.items():
        write_table(tmp_path / name, rows)
    full, none, bare = (pd.read_parquet(tmp_path / name) for name in ("full", "none", "bare"))
    assert len(full) == 6
    assert dict(full.dtypes) == dict(none.dtypes) == dict(bare.dtypes)
    assert full["at"].dropna().tolist() == [3.0, 3.0]


def test_the_summary_means_over_seeds_and_counts_verdicts() -> None:
    (line,) = summary_of([*lines(0), *lines(1, "care")])
    assert line["method"] == "mine"
    assert (line["seeds"], line["verdicts"], line["means"]) == (2, {"care": 1, "trust": 1}, {"fs-m": 1.0})
    twice = summary_of([*lines(0), *lines(0)])[0]  # two groups of checks of one seed: one verdict
    assert twice["verdicts"] == {"trust": 1}
    assert summary_of(lines(0, None))[0]["verdicts"] == {}


def test_the_tasks_of_a_table_are_known(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", [*lines(0), *lines(1)])
    assert keys_in(tmp_path / "t.parquet") == {"key0", "key1"}
    (tmp_path / "noise.parquet").write_bytes(b"no table")
    assert keys_in(tmp_path / "noise.parquet") == keys_in(tmp_path / "none.parquet") == set()
