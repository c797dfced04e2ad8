"""Lists: for people and for machines."""

from __future__ import annotations

import json

import pytest

from cli.conftest import Run
from unmask.audit import CHECKS
from unmask.cli.more import more
from unmask.methods import METHODS, MODELS
from unmask.reproduce import PAPERS


@pytest.mark.parametrize(("command", "table"), [("methods", {**METHODS, **MODELS}), ("checks", CHECKS)])
def test_every_entry_is_listed_for_machines(command: str, table: dict[str, object], run: Run) -> None:
    ended = run(command, "--json")
    assert [next(iter(row.values())) for row in json.loads(ended.out)] == list(table)


def test_papers_are_listed(run: Run) -> None:
    said = run("reproduce", "list").out
    assert all(name in said for name in PAPERS)


def test_the_commands_of_this_file() -> None:
    assert {command.callback.__name__ for command in more.registered_commands if command.callback} == {
        "methods",
        "checks",
        "data",
        "reproduce",
        "sweep",
    }
