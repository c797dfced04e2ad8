"""One task of a sweep: data, model, method, seed and checks in; the rows of its audit and a verdict out."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from unmask import api, devices
from unmask.audit import chosen, lighter
from unmask.audit.memo import code
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.auto import SET_AUTO
from unmask.cli.sources import Source, check_source, data_of, task_of
from unmask.errors import InputError, OutsideError
from unmask.loading import load as load_explainer
from unmask.methods import MODELS, make
from unmask.models import Wrapped, bind
from unmask.report.plain import as_json
from unmask.sweep.content import ITSELF, Files, check_package, content
from unmask.sweep.engine import waiting
from unmask.sweep.plan import Plan
from unmask.task import seeded
from unmask.types import Dataset
from unmask.writing import locked

__all__ = ["Cell", "Place", "cells_of", "check_data", "made", "measure"]

OPTIONS = r"--(data|drop|kind|label|model|outputs|parts|takes|text)\b"
OTHERWISE = (
    "{} has other files than there were when the sweep began where it was started, or another version of unmask or "
    "torch; give all machines the same, and run the same command again"
)


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

    def key(self, files: Files) -> str:
        """Its configuration as a hash; files count by what is in them, unmask by its source, torch by its version."""
        return _hashed([asdict(self), *_versions(), files])

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


@contextmanager
def as_settings() -> Iterator[None]:
    """What the command line calls options are settings of a plan."""
    try:
        yield
    except InputError as error:
        raise InputError(re.sub(OPTIONS, r"\1", str(error))) from error


def cells_of(plan: Plan, home: Path) -> list[Cell]:
    """Every task of a plan; those that train the same model stand apart, so that few wait for each other."""
    cells = [cell for seed in plan.seeds for cell in _cells(plan, seed)]
    with chdir(home), as_settings():
        for source in dict.fromkeys(cell.source for cell in cells if cell.source.model != ITSELF):
            check_source(source)
    for cell in cells:
        made(cell)
    seen, turns = Counter[Source](), list[tuple[int, Cell]]()
    for cell in cells:
        turns.append((seen[cell.source], cell))
        seen[cell.source] += 1
    return [cell for _, cell in sorted(turns, key=lambda turn: turn[0])]


def check_data(cells: Sequence[Cell], home: Path) -> None:
    """Read each data set once, with one seed: columns and packages that are not there, or too high a k, are refused."""
    firsts = {(cell.source.data, cell.k): cell for cell in cells}
    with chdir(home), as_settings():
        for model in dict.fromkeys(cell.source.model for cell in cells):
            check_package(home, model)
        for cell in firsts.values():
            d = _data(cell.source, home, content(Path(), cell.source)).train.valid.shape[1]
            if cell.k > d:
                raise InputError(f"a row of {cell.source.data} has {d} units, so k = {cell.k} of them cannot be kept")


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


def measure(cell: Cell, place: Place, key: str | None = None) -> dict[str, Any]:
    """The rows of the audit of this one method, its verdict, and how long it took.

    `key` is that of the planner; where this machine makes another one of the task, it measures nothing.
    """
    started = time.perf_counter()
    with chdir(place.home) if place.home.is_dir() else nullcontext():
        files = content(Path(), cell.source)
        if key not in (None, cell.key(files)):
            raise OutsideError(OTHERWISE.format(platform.node()))
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
        "device": devices.pick().type,
        "seconds": round(time.perf_counter() - started, 3),
    }


@lru_cache(maxsize=1)
def _data(source: Source, home: Path, files: Files) -> Dataset:
    """The data set; the next task of this process often asks for the same, with the same in its files."""
    return data_of(source)


@lru_cache(maxsize=1)
def _model(source: Source, place: Place, files: Files) -> Wrapped:
    """What is explained; a reference model is trained once and kept."""
    data = _data(source, place.home, files)
    if source.model != "reference":
        return task_of(source, data).model
    mark = _hashed([asdict(source), *_versions(), files])
    with _alone(place.cache / f"{mark}.lock"):
        return api.train_model(data, seed=source.seed, weights=place.cache / f"{mark}.safetensors")


def _fitted(cell: Cell, data: Dataset, place: Place, files: Files) -> tuple[Wrapped, Any]:
    """The model and its explainer; one that learns is fitted once for all groups of checks.

    A method that is a model is trained by each task: the audit needs both, and only explainers are kept.
    """
    explainer = made(cell)
    if cell.method in MODELS:
        explainer.fit(data)
        return explainer.model(), explainer
    model = _model(cell.source, place, files)
    if explainer is not None and not hasattr(explainer, "recipe"):
        return model, explainer.fit(model, data)
    folder = place.cache / _hashed([cell.fitting(), *_versions(), files])
    with _alone(folder.with_suffix(".lock")):
        if folder.exists():
            return model, load_explainer(folder, model=model, data=data)
        if explainer is None:
            explainer = api.fit(model, data, cell.k, removal=cell.removal, seed=cell.source.seed)
        else:
            explainer.fit(model, data)
        explainer.save(folder)
    return model, explainer


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Inside, no other process is inside; whoever dies inside lets the next one in. Waiting takes no time of a task."""
    with waiting():
        lock = locked(path)
    try:
        yield
    finally:
        lock.release()


def _versions() -> tuple[str, str]:
    """What computes: the source of unmask, and torch, however it was built (the device is told by each result)."""
    return code(), version("torch").partition("+")[0]


def _hashed(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
