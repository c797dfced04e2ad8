"""What is printed of a check and of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run
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
    assert found["comparisons"][0]["value"] == "0.871"


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
