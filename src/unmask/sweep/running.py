"""Running a plan: what is done is kept and not done again, what fails is listed, all results are one table."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import progress
from unmask.errors import InputError
from unmask.sweep.cell import Cell, Place, cells_of, measure
from unmask.sweep.engine import Failure, Job, Workers, run
from unmask.sweep.plan import Plan
from unmask.sweep.table import rows_of, summary_of, write_table
from unmask.sweep.tuning import Search, space_of
from unmask.writing import write_text

__all__ = ["TABLE", "listed", "sweep"]

TABLE = "results.parquet"


@dataclass(frozen=True)
class Run:
    """Where a sweep keeps what it finds, who works, and what failed so far."""

    out: Path
    home: Path
    workers: Workers
    say: Callable[[str], None]
    failed: dict[str, str] = field(default_factory=dict)  # task -> why
    passed_over: dict[str, str] = field(default_factory=dict)  # trial of a search -> why it failed
    fresh: list[str] = field(default_factory=list)  # keys of what was measured now

    def path(self, cell: Cell) -> Path:
        return self.out / "tasks" / f"{cell.key(self.home)}.json"

    def result(self, cell: Cell) -> dict[str, Any] | None:
        """What was kept of a task; what cannot be read is measured again."""
        try:
            found: dict[str, Any] = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found


def sweep(
    plan: Plan, out: Path, workers: Workers, home: Path = Path(), say: Callable[[str], None] = progress.say
) -> dict[str, Any]:
    """Measure what is missing of a plan; the table of all results, and a summary of what was done and what failed.

    Paths in the plan are seen from `home`.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError('a sweep writes parquet, which needs the package pyarrow; run pip install "unmask[parquet]"')
    started = time.perf_counter()
    cells = cells_of(plan, home.absolute())
    going = Run(out.absolute(), home.absolute(), workers, say)
    tuned: list[dict[str, Any]] = []
    cells = _tuned(going, plan, cells, tuned)  # before the table is touched: with which settings is known only now
    before = sum(going.result(cell) is not None for cell in cells)
    say(f"{len(cells)} tasks, {before} of them done before")
    try:
        _measure(going, cells, "sweeping", going.failed)
    finally:  # after Ctrl-C, too: the table of what there is
        found = [(cell, result) for cell in cells if (result := going.result(cell)) is not None]
        rows = [row for cell, result in found for row in rows_of(cell, going.path(cell).stem, result)]
        write_table(going.out / TABLE, rows)
    return {
        "tasks": len(cells),
        "done": len(found),
        "measured": len(going.fresh),
        "failed": [{"task": task, "why": why} for task, why in going.failed.items()],
        "trials passed over": [{"trial": trial, "why": why} for trial, why in going.passed_over.items()],
        "tuned": tuned,
        "results": str(out / TABLE),
        "seconds": round(time.perf_counter() - started, 1),
        "versions": {name: version(name) for name in ("unmask", "torch")},
        "summary": summary_of(rows),
    }


def listed(plan: Plan, out: Path, home: Path = Path()) -> list[dict[str, Any]]:
    """The tasks of a plan, and which of them are done; one whose settings are searched first is not known before."""
    going = Run(out.absolute(), home.absolute(), Workers(), progress.say)
    rows = []
    for cell in cells_of(plan, going.home):
        searched = bool(_space(plan, cell))
        state = "searched first" if searched else "done" if going.result(cell) else "to do"
        rows.append({"task": cell.label, "key": cell.key(going.home), "state": state})
    return rows


def _measure(going: Run, cells: Sequence[Cell], title: str, failed: dict[str, str]) -> None:
    """All that is missing of these, each written down when it is ready; what fails goes to `failed`."""
    missing = {cell.key(going.home): cell for cell in cells if going.result(cell) is None}
    place = Place(going.home, going.out / "cache")
    jobs = [Job(key, partial(measure, cell, place)) for key, cell in missing.items()]
    with progress.bar(title, len(jobs)) as step:
        for outcome in run(jobs, going.workers):
            cell = missing[outcome.key]
            if isinstance(outcome.result, Failure):
                failed[_named(cell)] = outcome.result.why
                going.say(f"failed: {_named(cell)}: {outcome.result.why}")
            else:
                going.fresh.append(outcome.key)
                write_text(going.path(cell), json.dumps({"key": outcome.key, "tries": outcome.tries, **outcome.result}))
            step(cell.label)


def _named(cell: Cell) -> str:
    """The task for people; of a trial what is tried."""
    settings = ", ".join(f"{name}={value}" for name, value in cell.settings.items())
    return f"{cell.label}, {settings}" if cell.split == "validation" and settings else cell.label


def _space(plan: Plan, cell: Cell) -> Mapping[str, Any]:
    """What is searched for a cell before it is measured."""
    wanted = {part.name or part.method: part.tune for part in plan.methods}
    return space_of(cell, plan.tune) if plan.tune and cell.method != "auto" and wanted[cell.name] else {}


def _tuned(going: Run, plan: Plan, cells: Sequence[Cell], told: list[dict[str, Any]]) -> list[Cell]:
    """The cells with the settings that a search found for them; groups of checks share their search."""
    searches: dict[str, Search] = {}
    for cell in cells:
        if plan.tune and _space(plan, cell):
            searches.setdefault(_bare(cell).key(going.home), Search(_bare(cell), plan.tune))
    while waves := {key: wave for key, search in searches.items() if (wave := search.ask())}:
        trials = [cell for wave in waves.values() for cell in wave]
        _measure(going, trials, "searching settings", going.passed_over)
        for key, wave in waves.items():
            searches[key].tell([going.result(cell) for cell in wave])
    found = {key: search.best() for key, search in searches.items()}
    for key, (settings, value) in found.items():
        cell = searches[key].cell
        told.append({"task": cell.label, "settings": settings, "value": value, "aim": searches[key].tune.aim})
        if value is None:
            going.say(f"{cell.label}: every trial failed or was rejected, so its own settings stay")
    best = [found.get(_bare(cell).key(going.home), ({}, None))[0] for cell in cells]
    return [replace(cell, settings={**cell.settings, **extra}) for cell, extra in zip(cells, best, strict=True)]


def _bare(cell: Cell) -> Cell:
    """The cell whatever is measured of it."""
    return replace(cell, checks=())
