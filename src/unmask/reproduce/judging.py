"""What neutral judges read: all rows of a table and a seed by one panel, which is lent the masks of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.reproduce.measuring import Trial, audited, kept_in
from unmask.reproduce.tables import CONTROLS, Scale, Table

__all__ = ["Group", "is_read", "mixed", "read", "unread", "with_readings"]

Done = Mapping[str, Mapping[str, Any]]  # key -> what was measured
READ = {"reading", "encoding-share"}
Group = tuple[Table, int]  # a table and a seed: what one panel reads


def is_read(trial: Trial, done: Done) -> bool:
    """Whether judges have read this row beside the others of its table."""
    return trial.table.name in done.get(trial.key, {}).get("read", {})


def unread(trials: Iterable[Trial], done: Done) -> set[Group]:
    """Tables, with their seeds, that have a reading and a row that was not read yet."""
    asked = (t for t in trials if READ & set(t.table.metrics))
    return {(t.table, t.seed) for t in asked if not is_read(t, done)}


def read(group: Group, scale: Scale, done: Done, cache: Path) -> Iterator[dict[str, Any]]:
    """One audit of a table and a seed; a line to be kept for each row, also for those that another panel read before.

    Rows of the table that were not asked for, but were measured and are still at hand, are read too.
    """
    table, seed = group
    every = [Trial(table, row, seed, scale) for row in table.rows]
    there = [t for t in every if t.key in done and (t.row in CONTROLS or kept_in(t, cache).exists())]
    rows = [t.row for t in there]
    found = audited(table, rows, seed, scale, cache) if rows else {}
    for t in there:
        told = {"panel": rows, "values": {"reading": None, **found[t.row]}}
        yield {"key": t.key, "values": {}, "read": {table.name: told}}


def with_readings(result: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """The values of a row with what the judges of this table read."""
    return {**result["values"], **result.get("read", {}).get(table.name, {}).get("values", {})}


def mixed(table: Table, results: Iterable[Sequence[Mapping[str, Any]]]) -> str:
    """A warning where rows of one seed, `results` seed by seed, were read by panels that knew other masks."""
    most = 0
    for rows in results:
        read = [r["read"][table.name] for r in rows if table.name in r.get("read", {})]
        most = max(most, len({tuple(told.get("panel", ())) for told in read}))
    if most < 2:
        return ""
    return f"Readings come from {most} panels of judges, which knew the masks of other rows: compare them with care."
