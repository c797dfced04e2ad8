"""The folder named by UNMASK_DATA: finding sets in it, reading their files, checking their row counts."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.errors import InputError

__all__ = ["check_rows", "data_from_anywhere", "find", "missing", "read_jsonl", "remedy"]


def find(where: str) -> Path | None:
    """The folder `where` below UNMASK_DATA, if it is there."""
    root = os.environ.get("UNMASK_DATA")
    path = Path(root, where) if root else None
    return path if path is not None and path.is_dir() else None


@contextmanager
def data_from_anywhere() -> Iterator[None]:
    """Inside, UNMASK_DATA names the same folder wherever the process goes."""
    root = os.environ.get("UNMASK_DATA")
    if not root:
        yield
        return
    os.environ["UNMASK_DATA"] = os.path.abspath(root)
    try:
        yield
    finally:
        os.environ["UNMASK_DATA"] = root


def remedy(name: str, where: str, hub: str) -> str:
    """What to do about a set that is not on this machine, in one sentence."""
    told = f"set UNMASK_DATA to the folder that holds {where}/"
    if hub:
        return f'{name} is not on this machine; {told}, or run pip install "unmask[hf]" to fetch {hub}'
    return f"{name} is not on this machine; {told} (it has no public copy to fetch)"


def missing(name: str, where: str, hub: str) -> InputError:
    return InputError(remedy(name, where, hub))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """One object a line; a name ending in .gz is unpacked."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as fault:
        raise InputError(
            f"{path} cannot be read as lines of JSON ({fault}); check the file or fetch it again"
        ) from fault


def check_rows(name: str, part: str, got: int, expected: int) -> None:
    """A name stands for one content: another number of rows is another data set."""
    if got != expected:
        raise InputError(
            f"{part} of {name} must have {expected} rows, got {got}: this is another set; use unmask.dataset for it"
        )
