"""What the shell offers when Tab is pressed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.cli import demo, options
from unmask.data import DATASETS, files
from unmask.masking import REMOVALS
from unmask.methods import METHODS


def test_names_are_offered_with_their_lines() -> None:
    assert options.offered(METHODS)("gradient-x-input-") == [
        ("gradient-x-input-abs", METHODS["gradient-x-input-abs"].line)
    ]
    assert [name for name, _ in options.offered(REMOVALS)("m")] == ["mean", "marginal", "mask-token"]
    assert options.offered(options.SPLITS)("v") == [("validation", "")]
    assert options.offered(options.TASKS)("t") == [("tumours", "a table")]
    assert options.offered(METHODS)("zzz") == []
    assert [name for name, _ in options.offered(METHODS)("")] == list(METHODS)


def test_data_sets_and_files_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tumble").mkdir()
    for name in ("tu.csv", "tu.txt", "other.csv", "tumble/in.npz"):
        (tmp_path / name).touch()
    offered = [name for name, _ in options.data_names("tu")]
    assert offered == ["tumours", "tu.csv", "tumble/"]
    assert [name for name, _ in options.data_names("tumble/")] == ["tumble/in.npz"]
    assert options.data_names("nowhere/x") == []
    assert set(DATASETS) <= {name for name, _ in options.data_names("")}


def test_what_is_listed_here_is_what_there_is() -> None:
    assert set(options.TASKS) == set(demo.TOURS)
    assert set(options.ENDINGS) == set(files.ENDINGS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("unmask audit --method occ", "occlusion"),
        ("unmask fit --removal marg", "marginal"),
        ("unmask explain x --split val", "validation"),
        ("unmask demo --task rev", "reviews"),
        ("unmask audit --data tum", "tumours"),
        ("unmask data info rotten", "rotten-tomatoes"),
    ],
)
def test_the_shell_completes(words: str, offered: str) -> None:
    asked = {"_UNMASK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "import sys; sys.argv = ['unmask']; from unmask.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert done.stdout.split() == [offered], done.stderr
