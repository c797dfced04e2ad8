"""One task of a sweep: data, model, method, seed and checks in; the rows of its audit and a verdict out."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import chdir, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from unmask import api
from unmask.audit import chosen, lighter
from unmask.audit.memo import code
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.auto import SET_AUTO
from unmask.cli.sources import Source, check_source, data_of, is_file, task_of
from unmask.errors import InputError
from unmask.loading import load as load_explainer
from unmask.methods import MODELS, make
from unmask.models import Wrapped, bind
from unmask.report.plain import as_json
from unmask.sweep.plan import Plan
from unmask.task import seeded
from unmask.types import Dataset

__all__ = ["Cell", "Place", "cells_of", "content", "made", "measure"]

ITSELF = "itself"  # the model of a method that is a model


@dataclass(frozen=True)
class Cell:
    """All that a task depends on; another value anywhere is another task."""

    source: Source
    method: str
    name: str
    k: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[str, ...] = ("default",)
    rows: int = 500
    split: str = "test"
    removal: str | None = None
    verdicts: bool = True

    @property
    def label(self) -> str:
        """The task for people."""
        tail = "" if self.split == "test" else f" on {self.split} rows"
        where = f"{self.source.data} {self.source.model} {self.name} seed={self.source.seed}"
        return f"{where} {','.join(self.checks)}".rstrip() + tail

    def key(self, home: Path) -> str:
        """Its configuration as a hash; files count by what is in them."""
        return _hashed([asdict(self), code(), content(home, self.source)])

    def fitting(self) -> dict[str, Any]:
        """What its explainer depends on."""
        parts = asdict(self)
        return {name: parts[name] for name in ("source", "method", "k", "settings", "removal")}


@dataclass(frozen=True)
class Place:
    """Where a task runs: paths are seen from `home`; models and explainers are kept in `cache`, one for each machine
    or on a disk that all share."""

    home: Path
    cache: Path


def cells_of(plan: Plan, home: Path) -> list[Cell]:
    """Every task of a plan; those that train the same model stand apart, so that few wait for each other."""
    cells = [cell for seed in plan.seeds for cell in _cells(plan, seed)]
    with chdir(home):
        for source in dict.fromkeys(cell.source for cell in cells if cell.source.model != ITSELF):
            check_source(source)
    for cell in cells:
        made(cell)
    seen, turns = Counter[Source](), list[tuple[int, Cell]]()
    for cell in cells:
        turns.append((seen[cell.source], cell))
        seen[cell.source] += 1
    return [cell for _, cell in sorted(turns, key=lambda turn: turn[0])]


def _cells(plan: Plan, seed: int) -> Iterator[Cell]:
    for data, method in product(plan.datasets, plan.methods):
        bare = Source(ITSELF, data.data, data.label, data.text, data.kind, None, None, seed, data.drop, data.parts)
        models = [m for m in plan.models if not m.on or data.data in m.on]
        sources = [replace(bare, model=m.model, outputs=m.outputs, takes=m.takes) for m in models]
        for source in [bare] if method.method in MODELS else sources:
            k = plan.k if data.k is None else data.k
            cell = Cell(source, method.method, method.name or method.method, k or 0, method.settings)
            yield from _groups(plan, cell)


def _groups(plan: Plan, cell: Cell) -> Iterator[Cell]:
    """The same cell with each group of checks."""
    how: dict[str, Any] = {name: getattr(plan, name) for name in ("rows", "split", "removal", "verdicts")}
    for checks in plan.groups():
        yield replace(cell, checks=checks, **how)


def made(cell: Cell) -> Any:
    """The unfitted explainer; None for auto, which chooses one."""
    if cell.method == "auto":
        if cell.settings:
            raise InputError(SET_AUTO)
        return None
    return seeded(make(cell.method, cell.k, cell.removal, cell.settings), cell.source.seed)


def measure(cell: Cell, place: Place) -> dict[str, Any]:
    """The rows of the audit of this one method, its verdict, and how long it took."""
    started = time.perf_counter()
    with chdir(place.home) if place.home.is_dir() else nullcontext():
        files = content(Path(), cell.source)
        data = _data(cell.source, place.home, files)
        model, explainer = _fitted(cell, data, place, files)
        rows = cell.rows if cell.split != "validation" else min(cell.rows, max(2, len(data.validation) // 2))
        names = chosen(cell.checks, deciding=cell.verdicts)
        settings = Settings(cell.k, cell.split, rows, cell.removal, cell.source.seed, names, light=lighter(cell.checks))
        findings = run(bind(model, data, cell.removal), data, {cell.name: explainer}, settings)
    found = [r for r in as_json(findings, version("unmask"))["rows"] if r["explanation"] == cell.name]
    verdict = next((v for v in findings.verdicts if v.explanation == cell.name), None)
    return {
        "label": cell.label,
        "configuration": asdict(cell),
        "rows": [{name: value for name, value in row.items() if name != "values"} for row in found],
        "verdict": verdict.verdict if verdict else None,
        "reasons": list(verdict.reasons) if verdict else [],
        "seconds": round(time.perf_counter() - started, 3),
    }


@lru_cache(maxsize=1)
def _data(source: Source, home: Path, files: tuple[str, ...]) -> Dataset:
    """The data set; the next task of this process often asks for the same, with the same in its files."""
    return data_of(source)


@lru_cache(maxsize=1)
def _model(source: Source, place: Place, files: tuple[str, ...]) -> Wrapped:
    """What is explained; a reference model is trained once and kept."""
    data = _data(source, place.home, files)
    if source.model != "reference":
        return task_of(source, data).model
    mark = _hashed([asdict(source), code(), files])
    with _alone(place.cache / f"{mark}.lock"):
        return api.train_model(data, seed=source.seed, weights=place.cache / f"{mark}.safetensors")


def _fitted(cell: Cell, data: Dataset, place: Place, files: tuple[str, ...]) -> tuple[Wrapped, Any]:
    """The model and its explainer; one that learns is fitted once for all groups of checks.

    A method that is a model is trained by each task: the audit needs both, and only explainers are kept.
    """
    explainer = made(cell)
    if cell.method in MODELS:
        explainer.fit(data)
        return explainer.model(), explainer
    model = _model(cell.source, place, files)
    if explainer is None:
        return model, api.fit(model, data, cell.k, removal=cell.removal, seed=cell.source.seed)
    if not hasattr(explainer, "recipe"):
        return model, explainer.fit(model, data)
    folder = place.cache / _hashed([cell.fitting(), code(), files])
    with _alone(folder.with_suffix(".lock")):
        if folder.exists():
            return model, load_explainer(folder, model=model, data=data)
        explainer.fit(model, data).save(folder)
    return model, explainer


def _alone(path: Path) -> Any:
    """Inside, no other process of this machine is inside; whoever dies inside lets the next one in."""
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


def _hashed(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def content(home: Path, source: Source) -> tuple[str, ...]:
    """What is in the files that a task reads: its data, its model, or the package that makes its model.

    What that package reads in turn, such as weights beside it, is not known here.
    """
    paths = [home / source.data] if is_file(source.data, home) else []
    if source.model not in (ITSELF, "reference"):
        given = home / source.model
        paths.append(given if given.exists() else _package(home, source.model.partition(":")[0].partition(".")[0]))
    files = [file.absolute() for path in paths for file in _files(path)]
    return tuple(_digest(file, file.stat().st_mtime_ns) for file in files)


def _package(home: Path, name: str) -> Path:
    """The file or the folder of a package, below `home` or installed."""
    near = next((path for path in (home / f"{name}.py", home / name) if path.exists()), None)
    spec = find_spec(name) if near is None else None
    if spec is None or spec.origin is None:
        return near or home / name
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def _files(path: Path) -> list[Path]:
    """The file, or every file of a folder but what Python compiled."""
    if not path.is_dir():
        return [path] if path.is_file() else []
    return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


@cache
def _digest(path: Path, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:16]
