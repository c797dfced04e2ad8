"""Help that teaches, options with one meaning, and the parser's own errors."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.conftest import Run, refused
from unmask.cli.app import app

COMMANDS = ["demo", "fit", "explain", "audit", "check", "compare", "steady", "rationalize"]
COMMANDS += ["methods", "checks", "data", "reproduce", "sweep"]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")


LISTED: dict[str, Any] = getattr(get_command(app), "commands")  # noqa: B009


def options(command: str) -> dict[str, str]:
    """The options of a command with their help."""
    return {name: p.help for p in LISTED[command].params for name in p.opts if name.startswith("--")}


def test_help_lists_every_command(run: Run) -> None:
    ended = run("--help")
    assert ended.code == 0
    assert all(f" {command} " in ended.out for command in COMMANDS)
    assert sorted(COMMANDS) == sorted(LISTED)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_has_a_line_and_an_example(run: Run, command: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    shown = " ".join(ended.out.split())
    assert f"For example: unmask {command}" in shown
    assert "None" not in shown


def test_no_command_shows_the_help(run: Run) -> None:
    ended = run()
    assert ended.code == 0
    assert "unmask demo" in ended.out


def test_version(run: Run) -> None:
    ended = run("--version")
    assert (ended.code, ended.out) == (0, f"unmask {metadata.version('unmask')}\n")


def test_an_option_means_the_same_everywhere() -> None:
    shared = ("--model", "--data", "--label", "--text", "--kind", "--outputs", "--takes", "--seed", "--split", "--k")
    shared += ("--backend", "--address")
    for option in shared:
        said = {options(command)[option] for command in COMMANDS if option in options(command)}
        assert len(said) == 1, option
    assert all(text for command in COMMANDS for text in options(command).values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["adit"], "No such command 'adit'. Did you mean 'audit'? (see: unmask --help)"),
        (["demo", "--tsk", "x"], "No such option: --tsk"),
        (["fit"], "Missing option '--model' (see: unmask fit --help)"),
        (["fit", "--k", "many"], "Invalid value for '--k'"),
    ],
)
def test_what_the_parser_refuses(run: Run, words: list[str], said: str) -> None:
    assert refused(run(*words)).startswith(said)


def test_the_python_lines_of_the_audit_can_be_run(run: Run, place: Path) -> None:
    lines = [line.strip() for line in run("audit", "--help").out.splitlines()]
    imported = next(line for line in lines if line.startswith("from unmask"))
    read = next(line for line in lines if line.startswith("read("))
    found: dict[str, Any] = {}
    exec(f"{imported}\nfound = {read.replace('loans.csv', 'rows.csv').replace('paid', 'label')}", found)
    assert len(found["found"]) > 0
