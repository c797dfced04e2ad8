"""Running a paper's tables: what is done is kept and not done again, two rows at a time."""

from __future__ import annotations

import json
import math
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from unmask import progress
from unmask.errors import InputError, UnmaskError
from unmask.reproduce import PAPERS
from unmask.reproduce.attending import attended
from unmask.reproduce.criticizing import criticized
from unmask.reproduce.judging import Group, mixed, read, unread, with_readings
from unmask.reproduce.measuring import COSTLY, Trial, kept_in, measure, rows_behind
from unmask.reproduce.rationalizing import rationalized
from unmask.reproduce.references import reference, shortened
from unmask.reproduce.request import Request
from unmask.reproduce.steadying import steadied
from unmask.reproduce.summing import base, better, ends, summary
from unmask.reproduce.tables import CONTROLS, Bar, Scale, Table
from unmask.sweep import engine
from unmask.sweep.engine import Failure, Job
from unmask.writing import add_line, locked

__all__ = ["Request", "run", "seeds_apart", "seeds_stored", "stored", "tables_so_far", "warm_start"]

MEASURES: dict[str, Callable[[Trial, Path], dict[str, Any]]] = {
    "attention": attended,
    "steady": steadied,
    "rationale": rationalized,
    "critique": criticized,
}


def run(request: Request, say: Callable[[str], None] = progress.say) -> dict[str, Any]:
    """Measure what is missing, then give the tables as in the JSON contract."""
    trials = request.trials()  # a mistake in what is asked for is told before anything is made
    with _alone(request):
        return _run(request, trials, say)


@contextmanager
def _alone(request: Request) -> Iterator[None]:
    """Inside, nobody else measures this paper in this folder: two would clear what the other keeps."""
    remedy = "wait for that, or name another folder (--results)"
    busy = f"{request.paper} is being measured in {request.folder} already; {remedy}"
    lock = locked(request.folder / ".models" / f"{request.paper}.lock", busy)
    try:
        yield
    finally:
        lock.release()


def _run(request: Request, trials: Sequence[Trial], say: Callable[[str], None]) -> dict[str, Any]:
    started = time.perf_counter()
    done, failed = stored(request.folder, trials), dict[str, str]()
    waiting = unread(trials, done)
    missing = _unique(t for t in trials if not _complete(t, done, waiting, request.folder))
    for trial in missing:
        if trial.key not in done:  # what was kept of it, but never measured, may come from other code
            shutil.rmtree(kept_in(trial, request.folder / ".models"), ignore_errors=True)
    say(f"{PAPERS[request.paper].title}: {len(trials)} rows, {len(missing)} to be measured")
    with progress.bar(f"reproducing {request.paper}", len(missing)) as step:
        for trial, result in _measured(missing, request):
            if isinstance(result, Failure):
                failed[trial.key] = result.why
                say(f"{trial.key} failed: {failed[trial.key]}")
            else:
                _keep(request.folder, trial.table, trial.scale, result)
            step(trial.key)
    failed |= _judge(request, [t for t in trials if t.key not in failed], say)
    tables = _tables(request, stored(request.folder, trials), time.perf_counter() - started)
    return {**tables, "failed": failed}


def tables_so_far(request: Request) -> dict[str, Any]:
    """The tables of what was measured before, without measuring anything."""
    return _tables(request, stored(request.folder, request.trials()), 0.0)


def warm_start(request: Request) -> dict[str, list[float]]:
    """Figure 3 of MEED: validation FS-M by epoch on imdb, with and without the prior, where both were measured."""
    rows = ("meed+prior", "meed-without-prior")
    trials = [t for t in request.trials() if t.table.name == "2" and t.row in rows and t.seed == 0]
    done = stored(request.folder, trials)
    return {t.row: done[t.key]["curve"] for t in trials if done.get(t.key, {}).get("curve")}


def seeds_apart(request: Request) -> dict[str, dict[str, list[list[float]]]]:
    """Figure 2 of SEAT: data set -> row -> (largest weight, JSD to other seeds) of each test row that was measured."""
    trials = [t for t in request.trials() if t.table.name == "seeds" and t.seed == 0]
    done, found = stored(request.folder, trials), dict[str, dict[str, list[list[float]]]]()
    for trial in trials:
        if done.get(trial.key, {}).get("points"):
            found.setdefault(trial.table.dataset, {})[trial.row] = done[trial.key]["points"]
    return found


def seeds_stored(folder: Path, scale: str) -> int:
    """How many seeds there are results of: the highest that any row was measured with, and those before it."""
    found = [_seed_of(result) for path in folder.glob(f"*-{scale}.jsonl") for result in _results(path)]
    return 1 + max(found, default=0)


def stored(folder: Path, trials: Iterable[Trial]) -> dict[str, dict[str, Any]]:
    """key -> result of all that was measured before; a later line adds to or replaces an earlier one."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted({_file(folder, t.table, t.scale) for t in trials}):
        for result in _results(path) if path.exists() else ():
            before = found.get(result["key"], {})
            both = {part: {**before.get(part, {}), **result.get(part, {})} for part in ("values", "read")}
            drawn = {part: result.get(part) or before.get(part, []) for part in ("points", "curve")}
            found[result["key"]] = {**before, **result, **both, **drawn}
    return found


def _results(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file of results; a last line that was cut off counts as not measured."""
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            if number < len(lines):
                raise InputError(f"line {number} of {path} is no result ({error}); take it out") from error
            progress.warn(f"the last line of {path} was cut off: what it held is measured again")


def _file(folder: Path, table: Table, scale: Scale) -> Path:
    return folder / f"{table.dataset.replace(':', '-')}-{scale}.jsonl"


def _keep(folder: Path, table: Table, scale: Scale, result: Mapping[str, Any]) -> None:
    add_line(_file(folder, table, scale), json.dumps({**result, "versions": _versions()}))


def _complete(trial: Trial, done: dict[str, dict[str, Any]], waiting: set[Group], folder: Path) -> bool:
    """Whether nothing is left to measure: costly metrics are there (null counts), and what judges must read is kept."""
    if trial.key not in done:
        return False
    to_be_read = (trial.table, trial.seed) in waiting and trial.row not in CONTROLS
    if to_be_read and not kept_in(trial, folder / ".models").exists():
        return False
    values = done[trial.key]["values"]
    return all(m in values for m in trial.metrics if m in COSTLY or trial.table.kind == "steady")


def _unique(trials: Iterable[Trial]) -> list[Trial]:
    """Each key once, with the metrics of all tables that ask for it."""
    found: dict[str, Trial] = {}
    for trial in trials:
        known = found.get(trial.key, trial)
        metrics = tuple(dict.fromkeys((*known.table.metrics, *trial.table.metrics)))
        found[trial.key] = replace(known, table=replace(known.table, metrics=metrics))
    return list(found.values())


def _measured(trials: Sequence[Trial], request: Request) -> Iterator[tuple[Trial, dict[str, Any] | Failure]]:
    """Each trial with its result, or with what went wrong: one row that fails does not stop the others."""
    cache, workers = request.folder / ".models", request.workers()
    if workers.backend == "ray":  # whose workers stand in folders of their own
        cache = cache.absolute()
    if (workers.backend == "ray" or workers.at_once > 1) and len(trials) > 1:
        explained = [t for t in trials if t.table.kind not in MEASURES]
        for trial in {(t.table.dataset, t.table.removal, t.seed): t for t in explained}.values():
            reference(trial.table, trial.seed, trial.scale, cache)  # once, before two ask for it
    by_key = {trial.key: trial for trial in sorted(trials, key=lambda t: t.turn)}
    jobs = [Job(key, partial(_measure(trial), trial, cache)) for key, trial in by_key.items()]
    if len(jobs) == 1 and workers.backend != "ray":  # measured here, where its progress is seen
        workers = replace(workers, jobs=1)
    for outcome in engine.run(jobs, workers):
        yield by_key[outcome.key], outcome.result


def _measure(trial: Trial) -> Callable[[Trial, Path], dict[str, Any]]:
    return MEASURES.get(trial.table.kind, measure)


def _judge(request: Request, trials: Sequence[Trial], say: Callable[[str], None]) -> dict[str, str]:
    """Have read what was not read yet, a table and a seed at a time; what could not be read, and why."""
    done, cache, failed = stored(request.folder, trials), request.folder / ".models", dict[str, str]()
    for group in sorted(unread(trials, done), key=lambda group: (group[0].dataset, group[0].name, group[1])):
        name = f"{group[0].name}, {group[0].dataset}, seed {group[1]}"
        try:
            for line in read(group, trials[0].scale, done, cache):
                _keep(request.folder, group[0], trials[0].scale, line)
        except Exception as error:
            why = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
            failed[f"readings of {name}"] = why
            say(f"the judges of {name} failed: {why}")
    return failed


def _tables(request: Request, done: dict[str, dict[str, Any]], seconds: float) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    controls: list[dict[str, Any]] = []
    for table in request.tables():
        found = {
            row: [
                done[key]
                for seed in range(request.seeds)
                if (key := Trial(table, row, seed, cast("Scale", request.scale)).key) in done
            ]
            for row in request.rows_of(table)
        }
        notes = (table.note, shortened(table, str(request.scale)), mixed(table, _by_seed(found)))
        warned = replace(table, note=" ".join(filter(None, notes)))
        for row, results in found.items():
            (controls if row in CONTROLS else rows).extend(_lines(warned, row, results))
    return {
        "paper": request.paper,
        "title": PAPERS[request.paper].title,
        "absent": PAPERS[request.paper].absent,
        "quick": request.scale == "quick",
        "scale": request.scale,
        "rows": rows,
        "controls": controls,
        "seconds": round(seconds, 1),
        "versions": _versions(),
    }


def _by_seed(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[list[Mapping[str, Any]]]:
    """The results of all rows, seed by seed."""
    seeds: dict[int, list[Mapping[str, Any]]] = {}
    for result in (r for results in found.values() for r in results):
        seeds.setdefault(_seed_of(result), []).append(result)
    return list(seeds.values())


def _seed_of(result: Mapping[str, Any]) -> int:
    return int(result["key"].rpartition("seed=")[2].partition(" ")[0])


def _lines(table: Table, row: str, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = []
    published = table.published.get(row, {})
    if not results:
        return []
    bars = table.bars.get(row, {})
    values = [with_readings(r, table) for r in results]
    names = {m: None for r in values for m in r if m.partition("@")[0] in table.metrics}
    for metric in [*published, *(m for m in names if m not in published)]:
        here = [r[metric] for r in values if r.get(metric) is not None and math.isfinite(r[metric][0])]
        value, low, high = summary(here, ends(base(metric)))
        lines.append(
            {
                "table": table.name,
                "dataset": table.dataset,
                "row": row,
                "metric": metric,
                "paper": published.get(metric),
                "here": value,
                "low": low,
                "high": high,
                "seeds": len(here),
                "by_seed": [v[0] for v in here],
                "better": better(base(metric)),
                "n": rows_behind(metric, results[0].get("n")),
                "note": table.note,
                **_claimed(table, bars.get(metric), low, high),
            }
        )
    return lines if any(line["here"] is not None for line in lines) else []


def _claimed(table: Table, bar: Bar | None, low: float | None, high: float | None) -> dict[str, Any]:
    """The claim of the table, what it predicts of this number, and whether the interval bears it out."""
    if not table.claim:
        return {}
    told = None if bar is None else [bar.way, bar.limit]
    reading = None if bar is None or low is None or high is None else bar.reading(low, high)
    return {"claim": table.claim, "bar": told, "reading": reading}


def _versions() -> dict[str, str]:
    names = ("unmask", "torch", "captum", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
