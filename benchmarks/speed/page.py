"""docs/benchmarks.md, from the stored results; what cases say of themselves, and the epochs of recipes, are of now."""

from __future__ import annotations

import ast
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

A selector has to be fitted before it explains. About how many rows must be explained until that has taken less time
than the method beside it: as many epochs as the recipe allows (fewer where nothing improves), each as in the case
`epoch` (4,000 rows to learn from), without what comes before them (Mimic's judge, MEED's prior), over the times of the
case `explain`. These are times of two cases, not of one run: take the numbers as rough.
"""


def write(cases: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Write the page; the requirements with their numbers, for the terminal."""
    text, summary = rendered(cases)
    PAGE.write_text(text)
    return f"{summary}\nwritten: {PAGE.relative_to(ROOT)}"


def rendered(cases: Mapping[str, Mapping[str, Any] | None]) -> tuple[str, str]:
    """The page, and its table of requirements; a case without results is named as such."""
    there = {name: found for name, found in cases.items() if found is not None}
    bars = sorted((b for found in there.values() for b in found["bars"]), key=lambda b: b["line"])
    rows = [{"what": b["what"], "value": b["value"], "limit": b["limit"], "met": _met(b)} for b in bars]
    rows += [
        {"what": f"all of {name}", "value": "not measured", "met": "**no**"} for name in cases if name not in there
    ]
    summary = _table(rows)
    parts = [HEAD, "## What must hold\n", _unmet(rows), summary]
    for name, found in there.items():
        parts += [f"## {name}\n", _told(found), *_tables(found)]
        parts += _pays(there, _epochs()) if name == "epoch" else []
    return "\n".join(parts).rstrip() + "\n", summary


def _unmet(rows: list[dict[str, Any]]) -> str:
    """What does not hold, before the long table of what does."""
    unmet = [f"- {row['what']}: {row['value']} ({row.get('limit', 'no limit')})" for row in rows if row["met"] != "yes"]
    head = f"{len(rows) - len(unmet)} of {len(rows)} numbers are within their limits."
    return "\n".join([head + (" These are not:\n" if unmet else "\n"), *unmet, *([""] if unmet else [])])


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
    rows, *_ = cases["explain"]["tables"].values()
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


def _told(found: Mapping[str, Any]) -> str:
    """What the case does, in the words of its docstring, and under which load it was run."""
    text = _docstring(found["case"])
    versions = ", ".join(f"{name} {number}" for name, number in {**found["versions"], **found["peers"]}.items())
    when = f"Measured on {found['date']} with the code of {found['code']}, in {found['minutes']} minutes on"
    busy = f"{found['machine']}; the machine's load before it was {found['load before']}. {versions}."
    return "\n".join([text, "", when, busy, ""])


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
