"""The command: what there is, bad requests in one sentence, a page from what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run, refused
from unmask.cli.reproduce import paper_rows, render_step
from unmask.reproduce import PAPERS
from unmask.reproduce.running import Request


def test_every_paper_is_listed() -> None:
    rows = paper_rows()
    assert [row["paper"] for row in rows] == list(PAPERS)
    assert "4 (fashion-pullover-shirt)" in rows[0]["tables"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mede"], "unknown paper 'mede'; did you mean 'meed'"),
        (["meed", "--table", "9"], "meed has no table '9' here"),
        (["meed", "--scale", "huge"], "unknown scale 'huge'"),
    ],
)
def test_bad_requests_are_one_sentence(arguments: list[str], said: str, run: Run) -> None:
    assert said in refused(run("reproduce", *arguments))


def test_a_page_is_made_of_what_was_measured(tmp_path: Path) -> None:
    keys = {trial.row: trial.key for trial in Request("meed", "3", folder=tmp_path).trials()}
    line = {"key": keys["random"], "values": {"fs-m": [55.8, 54.0, 57.0]}, "versions": {}}
    other = {"key": keys["l2x"], "values": {"fs-m": [94.8, 94.0, 95.0]}, "versions": {}}
    (tmp_path / "mnist-3-8-default.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(other)}\n")
    render_step(tmp_path, tmp_path / "page.md", "default", 1)
    page = (tmp_path / "page.md").read_text()
    assert "| random | 55.8 (54.0–57.0) |" in page
    assert "| l2x | 94.8 (94.0–95.0) | 91.4 |" in page
