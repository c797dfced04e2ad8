"""The results of a sweep as one table: a line for each number of each task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from unmask.report.plain import row_columns
from unmask.sweep.cell import Cell
from unmask.writing import write_bytes

__all__ = ["COLUMNS", "keys_in", "rows_of", "summary_of", "write_table"]

FACTS = ("dataset", "model", "method", "name", "settings", "k", "seed", "checks", "split", "removal", "device")
COLUMNS = ("key", *FACTS, "verdict", *row_columns()[1:])
"""What a task was, its verdict, and a row of its audit."""
NUMBERS = {"k": "Int64", "seed": "Int64", "n": "Int64", "passed": "boolean"}
TEXTS = {"key", *FACTS, "verdict", "check", "better", "note"} - set(NUMBERS)


def rows_of(cell: Cell, key: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of one task, as they stand in the table."""
    facts = {
        "key": key,
        "dataset": cell.source.data,
        "model": cell.source.model,
        "method": cell.method,
        "name": cell.name,
        "settings": json.dumps(dict(cell.settings), sort_keys=True),
        "k": cell.k,
        "seed": cell.source.seed,
        "checks": ",".join(cell.checks),
        "split": cell.split,
        "removal": cell.removal,
        "device": result.get("device"),
        "verdict": result["verdict"],
    }
    for row in result["rows"]:
        yield {name: facts[name] if name in facts else row.get(name) for name in COLUMNS}


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write parquet; a column is of the same type in every sweep, even where it is empty."""
    import pandas as pd

    types = {name: "string" if name in TEXTS else NUMBERS.get(name, "Float64") for name in COLUMNS}
    content = BytesIO()
    pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(types).to_parquet(content, index=False)
    write_bytes(path, content.getvalue())


def keys_in(path: Path) -> set[str]:
    """The tasks that a table holds; none where it is no such table."""
    import pandas as pd

    try:
        return set(pd.read_parquet(path, columns=["key"])["key"])
    except (OSError, ValueError):
        return set()


def summary_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each data set, model and method: seeds, verdicts, and the mean of each check over seeds."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["model"], row["name"]), []).append(row)
    return [_summed(names, group) for names, group in groups.items()]


def _summed(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One line of the summary; parts and points of curves are left out."""
    verdicts = {(row["seed"], row["verdict"]) for row in rows if row["verdict"]}
    whole: dict[str, list[float]] = {}
    for row in rows:
        if "@" not in row["check"] and row["at"] is None and row["value"] is not None:
            whole.setdefault(row["check"], []).append(row["value"])
    return {
        **dict(zip(("dataset", "model", "method"), names, strict=True)),
        "seeds": len({row["seed"] for row in rows}),
        "verdicts": dict(sorted(Counter(verdict for _, verdict in verdicts).items())),
        "means": {check: sum(values) / len(values) for check, values in whole.items()},
    }
