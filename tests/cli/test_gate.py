"""`unmask check` and `unmask compare` as commands: 0, 1 or 2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Run, refused
from report import invented
from stored.samples import findings, stored


@pytest.fixture(autouse=True)
def _report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    stored(tmp_path)


def test_holds_does_not_hold_cannot_be_read(run: Run) -> None:
    assert run("check", "report.json", "--require", "l2x:fs-m>0.8 and l2x:encoding<0.5").code == 0
    assert run("check", "report.json", "--require", "l2x:fs-m>0.9").code == 1
    assert "unknown check in report.json 'fsm'" in refused(run("check", "report.json", "--require", "fsm>0.9"))
    assert "is not valid JSON" in refused(run("check", __file__, "--require", "fs-m>0.9"))
    assert "cannot read nowhere.json" in refused(run("check", "nowhere.json", "--require", "fs-m>0.9"))


def test_rules_of_their_own_command(run: Run) -> None:
    ended = run("compare", "report.json", "report.json")
    assert ended.code == 0
    assert ended.out.startswith("no difference: ")


def test_what_cannot_be_compared_is_no_good_news(run: Run, tmp_path: Path) -> None:
    base = findings()
    for name, classes in (("iris.json", ["0", "1", "2"]), ("tumours.json", ["malignant", "benign"])):
        stored(tmp_path, replace(base, settings={**base.settings, "data": {"classes": classes}}), name)
    assert "iris.json and tumours.json are of other data" in refused(run("compare", "iris.json", "tumours.json"))
    stored(tmp_path, replace(base, rows=(invented.result("mine", "fs-m", 0.9),), verdicts=()), "mine.json")
    assert "report.json and mine.json share no explanation" in refused(run("compare", "report.json", "mine.json"))
