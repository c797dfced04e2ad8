"""Mistakes are one line and exit code 2, Ctrl-C is exit code 130 and tells the truth, our own faults stay visible."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run, refused
from unmask.cli import StoppedError, main, tables
from unmask.errors import InputError


def raising(error: BaseException) -> Callable[..., None]:
    def broken(*given: Any, **named: Any) -> None:
        raise error

    return broken


def test_an_error_of_the_library_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(InputError("two\n  lines")))
    assert refused(run("methods")) == "two lines"


def test_an_error_of_the_system_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(PermissionError(13, "Permission denied", "a/b")))
    assert refused(run("methods")) == "[Errno 13] Permission denied: 'a/b'"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("say wrap(model, outputs='logits')", "say --outputs logits"),
        ("wrap(model, outputs='logits') or outputs='probabilities'", "--outputs logits or --outputs probabilities"),
        ("say wrap(model, takes='text')", "say --takes text"),
        ("takes='ids' needs tokenizer=", "takes='ids' needs tokenizer="),
    ],
)
def test_arguments_are_named_as_options(said: str, shown: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(InputError(said)))
    assert refused(run("methods")) == shown


def test_ctrl_c_promises_nothing_where_nothing_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(KeyboardInterrupt()))
    ended = run("methods")
    assert (ended.code, ended.err) == (130, "stopped before the work was done\n")


def test_ctrl_c_says_what_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(StoppedError("all is kept")))
    ended = run("methods")
    assert (ended.code, ended.err) == (130, "stopped: all is kept\n")


def test_ctrl_c_while_the_program_starts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from unmask.cli import app

    monkeypatch.setattr(app, "app", raising(KeyboardInterrupt()))
    with pytest.raises(SystemExit, match="130"):
        main()
    assert capsys.readouterr().err == "stopped before the work was done\n"


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "show_rows", raising(ZeroDivisionError("ours")))
    monkeypatch.setattr(sys, "argv", ["unmask", "methods"])
    with pytest.raises(ZeroDivisionError, match="ours"):
        main()


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unmask.cli", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("unmask ")


@pytest.mark.slow
def test_a_command_that_is_asked_to_end_ends_as_by_ctrl_c_and_takes_its_workers_along(tmp_path: Path) -> None:
    """SIGTERM is what schedulers, containers and `kill` send."""
    import psutil

    plan = 'datasets = ["xor:n=4000"]\nmethods = ["l2x", "meed"]\nk = 2\n'
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    command = [sys.executable, "-m", "unmask.cli", "sweep", "plan.toml", "--jobs", "2"]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    own = psutil.Process(started.pid)
    deadline = time.monotonic() + 120
    while not (tmp_path / "sweep" / "cache").exists() and time.monotonic() < deadline:  # a task has begun
        time.sleep(0.1)
    workers = own.children(recursive=True)
    started.terminate()
    _, said = started.communicate(timeout=60)
    assert (started.returncode, said.splitlines()[-1]) == (
        143,
        "stopped: the finished tasks are kept in sweep; run the same command again to go on",
    )
    assert len(workers) >= 2
    assert not psutil.wait_procs(workers, timeout=20)[1]
