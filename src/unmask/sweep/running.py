"""Running a plan: what is done is kept and not done again, what fails is listed, all results are one table."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import progress
from unmask.data.folder import data_from_anywhere
from unmask.errors import InputError
from unmask.sweep.cell import Cell, Place, cells_of, check_data, measure
from unmask.sweep.content import Files, content
from unmask.sweep.engine import Failure, Job, Outcome, Workers, joined, run
from unmask.sweep.plan import Plan
from unmask.sweep.table import keys_in, rows_of, summary_of, write_table
from unmask.sweep.tuning import Search, space_of
from unmask.writing import locked, write_text

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
    files: dict[tuple[str, str], Files] = field(default_factory=dict)  # of data and a model, as they were at first

    def key(self, cell: Cell) -> str:
        """The key of a task, the same all through a run: who finds other files by then measures nothing."""
        asked = cell.source.data, cell.source.model
        if asked not in self.files:
            self.files[asked] = content(self.home, cell.source)
        return cell.key(self.files[asked])

    def path(self, cell: Cell) -> Path:
        return self.out / "tasks" / f"{self.key(cell)}.json"

    def result(self, cell: Cell) -> dict[str, Any] | None:
        """What was kept of a task; what cannot be read is measured again."""
        return _read(self.path(cell))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def sweep(
    plan: Plan, out: Path, workers: Workers, home: Path = Path(), say: Callable[[str], None] = progress.say
) -> dict[str, Any]:
    """Measure what is missing of a plan; the table of all results, and a summary of what was done and what failed.

    Paths in the plan are seen from `home`.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError('a sweep writes parquet, which needs the package pyarrow; run pip install "unmask[parquet]"')
    cells = cells_of(plan, home.absolute())
    lock = locked(out / ".lock", f"another sweep is at work in {out}; wait for it, or name another folder (--out)")
    try:
        with data_from_anywhere():
            return _swept(plan, cells, Run(out.absolute(), home.absolute(), workers, say))
    finally:
        lock.release()


def _swept(plan: Plan, cells: list[Cell], going: Run) -> dict[str, Any]:
    started, workers = time.perf_counter(), going.workers
    if plan.tune is None and not _missing(going, cells):
        return _told(going, cells, [], started)
    if workers.address is None:  # elsewhere data may be where the workers are, and nowhere else
        check_data(cells, going.home)
    with joined(workers):
        tuned: list[dict[str, Any]] = []
        cells = _tuned(going, plan, cells, tuned)  # before the table is touched: with which settings is known only now
        try:
            _sweep(going, cells)
        except BaseException:  # after Ctrl-C, too: the table of what there is
            _write(going, cells)
            raise
    return _told(going, cells, tuned, started)


def _sweep(going: Run, cells: Sequence[Cell]) -> None:
    missing = _missing(going, cells)
    going.say(f"{len(cells)} tasks, {len(cells) - len(missing)} of them done before")
    if old := _outdated(going, cells):
        going.say(f"{old} more were done by another version of unmask or torch, or with other files: measured again")
    _measure(going, cells, "sweeping", going.failed)


def _missing(going: Run, cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if going.result(cell) is None]


def _outdated(going: Run, cells: Sequence[Cell]) -> int:
    """How many of the tasks that are to be done were done otherwise: their configuration is here under another key."""
    wanted = {json.dumps(asdict(cell), sort_keys=True) for cell in _missing(going, cells)}
    there = (_read(path) for path in (going.out / "tasks").glob("*.json"))
    return len(wanted & {json.dumps(found.get("configuration"), sort_keys=True) for found in there if found})


def _write(going: Run, cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The table of what is there of these tasks; its rows."""
    found = [(cell, result) for cell in cells if (result := going.result(cell)) is not None]
    rows = [row for cell, result in found for row in rows_of(cell, going.key(cell), result)]
    if others := keys_in(going.out / TABLE) - {going.key(cell) for cell in cells}:
        kept = f"their results stay in {going.out.name}/tasks"
        going.say(f"{TABLE} held tasks that are not in this plan ({len(others)}); they leave it, {kept}")
    write_table(going.out / TABLE, rows)
    return rows


def _told(going: Run, cells: Sequence[Cell], tuned: Sequence[Mapping[str, Any]], started: float) -> dict[str, Any]:
    """The table, and what was done and what failed."""
    rows, own = _write(going, cells), {going.key(cell) for cell in cells}
    return {
        "tasks": len(cells),
        "done": len(cells) - len(_missing(going, cells)),
        "measured": len(own & set(going.fresh)),
        "trials": len(set(going.fresh) - own),
        "failed": [{"task": task, "why": why} for task, why in going.failed.items()],
        "trials passed over": [{"trial": trial, "why": why} for trial, why in going.passed_over.items()],
        "tuned": list(tuned),
        "results": str(going.out / TABLE),
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
        rows.append({"task": cell.label, "key": going.key(cell), "state": state})
    return rows


def _measure(going: Run, cells: Sequence[Cell], title: str, failed: dict[str, str]) -> None:
    """All that is missing of these, each written down when it is ready; what fails goes to `failed`."""
    missing = {going.key(cell): cell for cell in _missing(going, cells)}
    place = Place(going.home, going.out / "cache")
    jobs = [Job(key, partial(measure, cell, place, key)) for key, cell in missing.items()]

    def again(key: str, failure: Failure) -> None:
        going.say(f"failed once, and is tried again at the end: {_named(missing[key])}: {failure.why}")

    with progress.bar(title, len(jobs)) as step:
        for number, outcome in enumerate(run(jobs, going.workers, again), 1):
            cell = missing[outcome.key]
            if isinstance(outcome.result, Failure):
                failed[_named(cell)] = outcome.result.why
                going.say(f"failed: {_named(cell)}: {outcome.result.why}")
            else:
                _keep(going, cell, outcome, f"{number} of {len(jobs)}")
            step(cell.label)


def _keep(going: Run, cell: Cell, outcome: Outcome, done: str) -> None:
    going.fresh.append(outcome.key)
    write_text(going.path(cell), json.dumps({"key": outcome.key, "tries": outcome.tries, **outcome.result}))
    if not progress.shown():  # a log shows life by lines
        going.say(f"{done}: {_named(cell)}")


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
            searches.setdefault(going.key(_bare(cell)), Search(_bare(cell), plan.tune))
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
            _unsettled(going, searches[key])
    best = [found.get(going.key(_bare(cell)), ({}, None))[0] for cell in cells]
    return [replace(cell, settings={**cell.settings, **extra}) for cell, extra in zip(cells, best, strict=True)]


def _unsettled(going: Run, search: Search) -> None:
    """A search that found nothing: no trial ended, which is a failure, or the audit rejected whatever was tried."""
    label = search.cell.label
    if search.ended:
        going.say(f"{label}: the audit rejects all that was tried, so its own settings stay")
        return
    own = [why for trial, why in going.passed_over.items() if trial.startswith(f"{label} ")]
    going.failed[f"searching settings of {label}"] = f"every trial failed, the last one so: {own[-1] if own else '?'}"
    going.say(f"{label}: every trial failed, so its own settings stay")


def _bare(cell: Cell) -> Cell:
    """The cell whatever is measured of it."""
    return replace(cell, checks=())
