from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from report import invented
from stored.samples import findings, stored
from unmask.errors import InputError
from unmask.stored import read_report


def test_a_report_comes_back(tmp_path: Path) -> None:
    found = stored(tmp_path)
    assert found.numbers["l2x", "fs-m"].value == 0.871
    assert found.verdicts["l2x"] == "care"
    assert found.explanations == ["l2x", "integrated-gradients", "gradient", "occlusion", "cheater"]
    assert "fs-m" in found.checks
    assert any("@at=" in check for check in found.checks)  # points of a curve have names of their own


def test_values_of_rows_come_back_in_four_digits(tmp_path: Path) -> None:
    base = findings()
    rows = (replace(base.rows[0], values=(1.0, 0.0, 0.123456, math.nan)), *base.rows[1:])
    number = stored(tmp_path, replace(base, rows=rows)).numbers[base.rows[0].explanation, base.rows[0].check]
    assert number.values[:3] == (1.0, 0.0, 0.1235)
    assert math.isnan(number.values[3])


def test_a_missing_value_is_nan(tmp_path: Path) -> None:
    row = invented.result("a", "encoding-share", math.nan)
    assert math.isnan(stored(tmp_path, replace(findings(), rows=(row,))).numbers["a", "encoding-share"].value)


@pytest.mark.parametrize(
    "content",
    ["[]", "3", "null", '"text"', "{}", '{"rows": 5, "verdicts": [], "task": "", "model": ""}', '{"rows": [{}]}'],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"r\.json is no report of unmask"):
        read_report(path)


def test_a_verdict_of_another_kind_is_refused(tmp_path: Path) -> None:
    stored(tmp_path)
    facts: dict[str, Any] = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    facts["verdicts"][0]["verdict"] = "maybe"
    (tmp_path / "report.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(InputError, match="verdict 'maybe'"):
        read_report(tmp_path / "report.json")


def test_files_that_are_not_there_or_broken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a report that unmask wrote"):
        read_report(tmp_path / "nowhere.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match="expected a report that unmask wrote"):
        read_report(tmp_path / "b.json")
