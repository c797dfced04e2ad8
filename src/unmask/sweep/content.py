"""What is in the files that a task reads: another content is another task."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from unmask.cli.sources import Source, is_file
from unmask.data import DATASETS, named
from unmask.errors import InputError

__all__ = ["ITSELF", "Files", "check_package", "content"]

ITSELF = "itself"  # the model of a method that is a model
LOCATION = re.compile(
    rb"\x0a\x08location\x12([\x00-\x7f]|[\x80-\xff][\x01-\x7f])"
)  # how an ONNX graph says where weights are


Files = tuple[str, ...]
"""Name and content of each file that a task reads."""


def content(home: Path, source: Source) -> Files:
    """The files that a task reads: its data, its model, or the package that makes its model.

    What that package reads in turn, such as weights beside it, is not known here.
    """
    paths = _data(home, source.data)
    if source.model not in (ITSELF, "reference"):
        given = home / source.model
        paths.append(given if given.exists() else _package(home, _top(source.model)))
    files = [(path, file.absolute()) for path in paths for file in _files(path)]
    return tuple(f"{_seen_from(path, file)} {_digest(file, file.stat().st_mtime_ns)}" for path, file in files)


def _seen_from(path: Path, file: Path) -> str:
    """The name of a file of that folder, or of the file itself, wherever both are."""
    return Path(os.path.relpath(file, path if path.is_dir() else path.parent)).as_posix()


def _data(home: Path, data: str) -> list[Path]:
    """The file of the data, or the folder that a data set is told to read."""
    if is_file(data, home):
        return [home / data]
    options = named(data)[1] if data.partition(":")[0] in DATASETS else {}
    return [home / Path(options["path"]).expanduser()] if "path" in options else []


def check_package(home: Path, model: str) -> None:
    """Refuse a model whose package is nowhere, before any task asks for it."""
    name = _top(model)
    if model in (ITSELF, "reference") or (home / model).exists() or _near(home, name) or _spec(name):
        return
    raise InputError(f"there is no package {name!r} for the model {model}, neither in {home} nor installed")


def _top(model: str) -> str:
    return model.partition(":")[0].partition(".")[0]


def _package(home: Path, name: str) -> Path:
    """The file or the folder of a package, below `home` or installed."""
    near, spec = _near(home, name), _spec(name)
    if near is not None or spec is None or spec.origin is None:
        return near or home / name
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def _near(home: Path, name: str) -> Path | None:
    return next((path for path in (home / f"{name}.py", home / name) if path.exists()), None)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ValueError:  # a module that does not say where it comes from, such as __main__
        return None


def _files(path: Path) -> list[Path]:
    """The file, or every file of a folder but what Python compiled."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    if not path.is_file():
        return []
    return [path, *_weights(path)] if path.suffix.lower() == ".onnx" else [path]


def _weights(path: Path) -> list[Path]:
    """Files that an ONNX graph says its weights are in, as a large one does: names seen from its folder."""
    found = (path.parent / name for name in sorted(_named_in(path, path.stat().st_mtime_ns)))
    return [file for file in found if os.path.isfile(file)]


@cache
def _named_in(path: Path, changed: int) -> set[str]:
    graph, names = path.read_bytes(), set[str]()
    for entry in LOCATION.finditer(graph):
        first, *more = entry[1]
        size = first & 0x7F | (more[0] << 7 if more else 0)
        names.add(graph[entry.end() : entry.end() + size].decode("utf-8", errors="replace"))
    return names


@cache
def _digest(path: Path, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:16]
