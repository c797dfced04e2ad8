"""What is printed of a check and of a comparison."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Run
from report import invented
from stored.samples import findings, stored


@pytest.fixture(autouse=True)
def _reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    stored(tmp_path)
    stored(tmp_path, findings(fs_m=0.4), "worse.json")


def test_every_comparison_with_its_value(run: Run) -> None:
    out = run("check", "report.json", "--require", "l2x:fs-m>0.9 or l2x:verdict==care", "--strict").out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("l2x l2x:fs-m>0.9 0.871 ") and line.endswith("does not hold") for line in lines)
    assert "l2x l2x:verdict==care care – holds" in lines
    assert lines[-1] == "holds: l2x:fs-m>0.9 or l2x:verdict==care (whole intervals)"


def test_a_check_as_json(run: Run) -> None:
    ended = run("check", "report.json", "--require", "l2x:fs-m>0.9", "--json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert found["holds"] is False
    first = found["comparisons"][0]
    assert list(first) == ["explanation", "required", "value", "low", "high", "holds"]
    assert first["value"] == 0.871
    assert first["low"] < 0.871 < first["high"]


def test_a_verdict_and_a_number_that_is_missing_as_json(run: Run, tmp_path: Path) -> None:
    rows = (invented.result("a", "encoding-share", math.nan), replace(invented.result("a", "fs-m", 0.9), low=math.nan))
    stored(tmp_path, replace(findings(), rows=rows), "gaps.json")
    out = run("check", "gaps.json", "--require", "a:encoding<0.2 or a:fs-m>0.8 or l2x:verdict==care", "--json").out
    said = {c["required"]: (c["value"], c["low"]) for c in json.loads(out, parse_constant=pytest.fail)["comparisons"]}
    assert said == {
        "a:encoding-share<0.2": (None, None),
        "a:fs-m>0.8": (0.9, None),
        "l2x:verdict==care": ("care", None),
    }


def test_a_comparison_in_words(run: Run) -> None:
    out = run("compare", "report.json", "worse.json").out
    assert "l2x" in out
    assert out.rstrip().splitlines()[-1].startswith("1 changed, 1 for the worse and 0 for the better: ")


def test_a_comparison_as_json(run: Run) -> None:
    found = json.loads(run("compare", "report.json", "worse.json", "--json").out)
    assert found["different"] is True
    first = found["changes"][0]
    assert (first["explanation"], first["check"], first["change"]) == ("l2x", "fs-m", "worse")
    assert {change["change"] for change in found["changes"][1:]} == {"none"}
