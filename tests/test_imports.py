"""Importing the package and asking for help stay light: heavy libraries are imported when they are used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "captum",
    "matplotlib",
    "numpy",
    "optuna",
    "pandas",
    "pyarrow",
    "ray",
    "scipy",
    "sklearn",
    "torch",
    "transformers",
}

# Runs the code it is given in a fresh interpreter and reports the exit code and the top-level modules then loaded.
RUNNER = """
import contextlib, io, json, sys
code, shown = 0, io.StringIO()
sys.argv[0] = "unmask"
with contextlib.redirect_stdout(shown):
    try:
        {code}
    except SystemExit as stop:
        code = stop.code or 0
loaded = sorted({{name.partition(".")[0] for name in sys.modules}})
print(json.dumps({{"code": code, "loaded": loaded, "shown": shown.getvalue()}}))
"""


def run(code: str, *arguments: str) -> dict[str, object]:
    """`code` run in its own process with `arguments` on the command line."""
    command = [sys.executable, "-c", RUNNER.format(code=code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def heavy(answer: dict[str, object]) -> set[str]:
    loaded = answer["loaded"]
    assert isinstance(loaded, list)
    return HEAVY & set(loaded)


def test_importing_the_package_is_light() -> None:
    answer = run("import unmask")
    assert heavy(answer) == set()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["demo", "--help"], ["sweep", "--help"], ["sweep", "--example"]], ids=" ".join
)
def test_help_is_light(arguments: list[str]) -> None:
    answer = run("from unmask.cli import main; main()", *arguments)
    assert answer["code"] == 0, answer["shown"]
    assert answer["shown"]
    assert heavy(answer) == set()


def test_the_installed_command_is_light() -> None:
    command = Path(sys.executable).with_name("unmask")
    assert command.is_file(), "install the package first: make check does"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(command), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "unmask" in imported
    assert imported & HEAVY == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert heavy(run("import numpy")) == {"numpy"}
