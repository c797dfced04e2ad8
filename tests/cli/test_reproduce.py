"""The command: what there is, bad requests in one sentence, a page from what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run, refused
from unmask.cli import reproduce
from unmask.cli.reproduce import paper_rows, render_step
from unmask.errors import UnmaskError
from unmask.reproduce import PAPERS
from unmask.reproduce.running import Request


def test_every_paper_is_listed() -> None:
    rows = paper_rows()
    assert [row["paper"] for row in rows] == list(PAPERS)
    assert "4 (fashion-pullover-shirt)" in next(row for row in rows if row["paper"] == "meed")["tables"]


def test_the_list_can_be_written(run: Run, tmp_path: Path) -> None:
    assert run("reproduce", "list", "--json", str(tmp_path / "papers.json")).code == 0
    assert json.loads((tmp_path / "papers.json").read_text()) == paper_rows()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mede"], "unknown paper 'mede'; did you mean 'meed'"),
        (["meed", "--table", "9"], "meed has no table '9' here"),
        (["meed", "--scale", "huge"], "unknown scale 'huge'"),
        (["meed", "--table", "1", "--dataset", "mnist-3-8"], "table 1 of meed is not on mnist-3-8; it is on: imdb"),
        (["shortcuts", "--figure", "3"], "shortcuts has no figure here"),
        (["meed", "--quick", "--scale", "paper"], "--quick and --scale paper contradict each other"),
        (["render", "--results", "nowhere"], "nowhere has no results of the default scale"),
        (["meed", "--json", "/dev/null/x.json"], "cannot write into /dev/null"),
    ],
)
def test_bad_requests_are_one_sentence(arguments: list[str], said: str, run: Run) -> None:
    assert said in refused(run("reproduce", *arguments))


def test_a_page_is_made_of_what_was_measured(tmp_path: Path) -> None:
    keys = {trial.row: trial.key for trial in Request("meed", "3", folder=tmp_path).trials()}
    line = {"key": keys["random"], "values": {"fs-m": [55.8, 54.0, 57.0]}, "versions": {}}
    other = {"key": keys["l2x"], "values": {"fs-m": [94.8, 94.0, 95.0]}, "versions": {}}
    (tmp_path / "mnist-3-8-default.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(other)}\n")
    render_step(tmp_path, tmp_path / "page.md", "default")
    page = (tmp_path / "page.md").read_text()
    assert "| random | 55.8 (54.0–57.0) |" in page
    assert "| l2x | 94.8 (94.0–95.0) | 91.4 |" in page


def test_wide_tables_are_folded_each_part_with_the_names_of_the_rows() -> None:
    head, body = ["row", "aaaa", "bbbb", "cccc"], [["name", "1", "2", "3"]]
    assert reproduce._folds(head, body, 80) == [[0, 1, 2, 3]]
    assert reproduce._folds(head, body, 15) == [[0, 1, 2], [0, 3]]
    assert reproduce._folds(head, body, 3) == [[0, 1], [0, 2], [0, 3]]


def test_rows_that_fail_are_said_and_the_others_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"table": "3", "dataset": "digits", "metric": "fs-m", "paper": None, "here": 50.0, "low": 1.0, "high": 99.0}
    rows = [{**line, "row": "mimic", "note": "", "seeds": 1}]
    result = {"title": "It", "scale": "quick", "absent": "", "controls": [], "rows": rows}
    monkeypatch.setattr(reproduce, "run", lambda request: {**result, "failed": {"meed seed=0": "ValueError: no"}})
    with pytest.raises(UnmaskError, match="1 rows could not be measured, the others are kept: meed seed=0: ValueError"):
        reproduce.reproduce_step(Request("meed", folder=tmp_path), None)
    assert "50.0 (1.0–99.0)" in capsys.readouterr().out
