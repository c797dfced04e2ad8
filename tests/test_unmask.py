"""The public names: one sorted list, every name real, and the types agree with what is imported when asked for."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import unmask

TREE = ast.parse(Path(unmask.__file__ or "").read_text(encoding="utf-8"))


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_the_list_is_sorted_and_is_what_dir_shows() -> None:
    assert unmask.__all__ == sorted(set(unmask.__all__), key=order)
    assert dir(unmask) == sorted(unmask.__all__)


@pytest.mark.parametrize("name", unmask.__all__)
def test_every_name_is_there(name: str) -> None:
    home = next(home for home, names in unmask._HOMES.items() if name in names)
    found = getattr(unmask, name)
    assert found is getattr(importlib.import_module(home), name)
    assert callable(found)
    assert found.__doc__


def test_homes_hold_each_name_once() -> None:
    held = [name for names in unmask._HOMES.values() for name in names]
    assert sorted(held) == sorted(unmask.__all__)


def test_the_types_are_imported_from_the_same_homes() -> None:
    block = next(node for node in TREE.body if isinstance(node, ast.If))
    typed = {node.module: tuple(a.name for a in node.names) for node in block.body if isinstance(node, ast.ImportFrom)}
    assert typed == unmask._HOMES


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'unmask' has no attribute 'adit'"):
        _ = unmask.adit  # type: ignore[attr-defined]


@pytest.mark.slow
def test_audit_is_the_call_although_a_folder_has_its_name() -> None:
    code = "import unmask; unmask.fit; from unmask.audit import CHECKS; print(type(unmask.audit).__name__, len(CHECKS))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("function "), done.stderr
