from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report import invented
from unmask.errors import InputError
from unmask.report import Report


@pytest.fixture(scope="module")
def report() -> Report:
    return Report(invented.findings())


def test_json_holds_the_agreed_keys(report: Report):
    found = report.to_json()
    assert list(found)[:5] == ["unmask", "task", "model", "rows", "verdicts"]
    assert list(found["rows"][0]) == invented.KEYS
    assert found["verdicts"][1] == {
        "explanation": "integrated-gradients",
        "verdict": "trust",
        "reasons": ["The kept units are enough (0.95 against 0.34 for random units)."],
    }
    assert found["settings"]["k"] == 8
    assert found["controls"] == ["random", "first-k", "last-k"]


def test_json_is_strict(tmp_path: Path):
    row = invented.result("a", "encoding-share", math.nan, low=-math.inf, high=math.nan, null=None)
    settings = {"loss": math.nan, "kinds": {"b", "a"}, "array": np.array([1.0, np.nan]), "one": np.float32(0.5)}
    path = Report(replace(invented.findings(), rows=(row,), settings=settings)).save(tmp_path / "r.json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert [found["rows"][0][key] for key in ("value", "low", "high", "null")] == [None] * 4
    assert found["settings"] == {"loss": None, "kinds": ["a", "b"], "array": [1.0, None], "one": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_same_findings_same_bytes(name: str, tmp_path: Path):
    first = Report(invented.findings()).save(tmp_path / "a" / name)
    second = Report(invented.findings()).save(tmp_path / "b" / name)
    assert first.read_bytes() == second.read_bytes()


def test_table_has_a_row_for_each_number(report: Report):
    table = report.table
    assert len(table) == len(report.findings.rows)
    assert list(table.columns) == [*invented.KEYS, "at", "note"]
    assert table.loc[0, "value"] == 0.871


def test_table_without_rows_keeps_its_columns():
    assert list(Report(replace(invented.findings(), rows=())).table.columns) == [*invented.KEYS, "at", "note"]


def test_verdicts_are_those_of_the_findings(report: Report):
    assert report.verdicts == invented.VERDICTS


def test_short_form_counts_verdicts(report: Report):
    assert repr(report).endswith("2 trust, 2 care, 1 reject)")


@pytest.mark.slow
def test_notebook_gets_a_closed_frame(report: Report):
    html = report._repr_html_()
    assert html.startswith("<iframe")
    assert html.count("<") == 2


def test_other_endings_are_refused(report: Report, tmp_path: Path):
    with pytest.raises(InputError, match=r"\.html or \.json, got 'report.pdf'"):
        report.save(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_broken_characters_do_not_stop_a_report(tmp_path: Path):
    base = replace(invented.findings(), task="half a pair: \ud800")
    assert Report(base).save(tmp_path / "r.html").exists()
    assert json.loads(Report(base).save(tmp_path / "r.json").read_text(encoding="utf-8"))["task"] == "half a pair: ?"


def test_agreement_is_a_frame_for_each_measure(report: Report):
    found = report.agreement["agreement"]
    assert list(found.index) == list(invented.NAMES[:5])
    row = next(r for r in report.findings.rows if r.explanation == "l2x" and r.check == "agreement@explanation=cheater")
    assert found.loc["l2x", "cheater"] == row.value
    assert np.isnan(found.loc["l2x", "l2x"])
