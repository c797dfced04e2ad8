"""The page of all checks is the one in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run
from unmask.audit import CHECKS, QUESTIONS
from unmask.cli.checks import checks_page, example, write_checks

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"


def test_the_page_in_the_repository_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == checks_page(), "run: unmask checks --out docs/checks.md"


def test_every_check_and_question_is_on_it() -> None:
    page = checks_page()
    assert all(f"### `{name}`" in page for name in CHECKS)
    assert all(f"## {title}" in page for title in QUESTIONS.values())


@pytest.mark.parametrize("name", CHECKS)
def test_every_example_runs_its_check(name: str) -> None:
    command, check = example(name), CHECKS[name]
    assert command.startswith("unmask rationalize" if check.rationale else "unmask audit")
    assert command.endswith("--keep 1" if check.rationale else f"--checks {name}")
    assert command.count("--method") == (0 if check.rationale else 2 if check.several else 1)


def test_the_page_is_written(tmp_path: Path, run: Run) -> None:
    assert write_checks(tmp_path / "a.md").read_text(encoding="utf-8") == checks_page()
    ended = run("checks", "--out", str(tmp_path / "b.md"))
    assert "written" in ended.out
    assert (tmp_path / "b.md").read_text(encoding="utf-8") == checks_page()
