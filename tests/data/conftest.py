"""What the tests of data share: which sets can be loaded here, and how few rows of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from unmask.data import DATASETS, folder, load
from unmask.types import Dataset

from .folders import beer, pictures

REAL = pytest.mark.skipif(not os.environ.get("UNMASK_DATA"), reason="UNMASK_DATA names no folder with the real sets")


def few(name: str) -> dict[str, Any]:
    """Options that keep a set small, and that say where it is if it has no place of its own."""
    options = DATASETS[name].options
    if name == "image-folder":
        return {"path": pictures(), "size": 8}
    if name == "beer-lei":
        return {"path": beer()}
    return {"rows": (60, 30, 40)} if "rows" in options else {"n": 400} if "n" in options else {}


@cache
def loaded(name: str) -> Dataset:
    """A few rows of a set, with seed 0."""
    return load(name, **few(name))


@pytest.fixture(scope="session", autouse=True)
def real_files_are_read_once() -> Iterator[None]:
    """The files of the set that was read last are kept: they are large, and packed."""
    root, read = os.environ.get("UNMASK_DATA"), folder.read_jsonl
    kept = lru_cache(maxsize=3)(read)

    def read_once(path: Path) -> list[dict[str, Any]]:
        return kept(path) if root and Path(root) in path.parents else read(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "read_jsonl", read_once)
        yield


def every() -> list[Any]:
    """All names of the table, the real ones skipped where they are not."""
    anywhere = ("embedded", "yours")
    return [pytest.param(name, marks=[] if s.where in anywhere else [REAL]) for name, s in DATASETS.items()]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever reads the real sets is slow."""
    for item in items:
        if any(mark == REAL.mark for mark in item.iter_markers()):
            item.add_marker(pytest.mark.slow)
