"""docs/benchmarks.md, written from the stored results and from nothing else."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
HEAD = """# Speed and memory

Written by `python benchmarks/bench.py --render` from
[`benchmarks/results/bench.json`](../benchmarks/results/bench.json); `make bench BENCH=--fresh` measures all of it anew.
Contestants run in turns in one process with one thread. Times are seconds of a core: unless a case says otherwise, the
median of the repetitions after a warm-up, with the smallest and the largest beside it; a ratio is the median of the
ratios, repetition by repetition.
"""
PAYS = """## When fitting pays

A selector has to be fitted before it explains. How many rows must be explained until that has taken less time than the
method beside it: as many epochs as the recipe allows (fewer where nothing improves), each as in the case `epoch` (4,000
rows to learn from), without what is trained before them (Mimic's judge), over the times of the case `explain`.
"""


def write(cases: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the page; the requirements with their numbers, for the terminal."""
    bars = [b for found in cases.values() for b in found["bars"]]
    bars = sorted(bars, key=lambda b: b["line"])
    summary = _table([{"what": b["what"], "value": b["value"], "limit": b["limit"], "met": _met(b)} for b in bars])
    parts = [HEAD, _machine(), "## What must hold\n", summary]
    for name, found in cases.items():
        parts += [f"## {name}\n", _told(found), *_tables(found)]
        parts += _pays(cases, _epochs()) if name == "epoch" else []
    PAGE.write_text("\n".join(parts).rstrip() + "\n")
    return f"{summary}\nwritten: {PAGE.relative_to(ROOT)}"


def _met(bar: Mapping[str, Any]) -> str:
    return "yes" if bar["met"] else "**no**"


def _epochs() -> dict[str, int]:
    """How many epochs the recipe of each learned method allows."""
    from speed.grounds import LEARNED

    return {name: method(k=1).recipe.epochs for name, method in LEARNED.items()}


def _pays(cases: Mapping[str, Mapping[str, Any]], epochs: Mapping[str, int]) -> list[str]:
    """Rows after which a fitted selector was the cheaper one, for each method that explains every row anew."""
    if not {"explain", "epoch"} <= set(cases):
        return []
    (rows,) = cases["explain"]["tables"].values()
    ms = {row["method"]: float(row["ms"]) for row in rows}
    timed = next(iter(cases["epoch"]["tables"].values()))
    fits = {row["epoch of"]: float(row["ms"]) * epochs[row["epoch of"]] for row in timed if row["epoch of"] in epochs}
    rivals = [row["method"] for row in rows if row.get("whole call, times faster")]
    told = [
        {
            "fitted": name,
            "epochs at most": epochs[name],
            "seconds": f"{fit / 1000:.0f}",
            **{f"rows of {rival}": f"{fit / (ms[rival] - ms[name]):,.0f}" for rival in rivals},
        }
        for name, fit in fits.items()
    ]
    return [PAYS, _table(told)]


def _machine() -> str:
    stored = json.loads((ROOT / "benchmarks" / "results" / "bench.json").read_text())
    peers = next((entry["peers"] for entry in stored["entries"].values()), {})
    versions = ", ".join(f"{name} {number}" for name, number in {**stored["versions"], **peers}.items())
    return f"Versions: {versions}.\n"


def _told(found: Mapping[str, Any]) -> str:
    """What the case does, in the words of its docstring, and under which load it was run."""
    text = _docstring(found["case"])
    busy = f"{found['minutes']} minutes; the machine's load before it was {found['load before']}."
    return "\n".join([text, "", *found.get("notes", []), busy, ""])


def _docstring(path: str) -> str:
    """Read from the source: nothing heavy is imported for a page."""
    module, _, function = path.partition(":")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text())
    return next(ast.get_docstring(f) or "" for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function)


def _tables(found: Mapping[str, Any]) -> list[str]:
    return [text for title, rows in found["tables"].items() for text in (f"**{title}**\n", _table(rows))]


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "Nothing was measured yet.\n"
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"
