"""Tables in the terminal, and the same rows as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from unmask.data import DATASETS, available, named
from unmask.errors import InputError

__all__ = ["check_rows", "compared_rows", "data_facts", "data_rows", "data_step", "method_rows", "show_rows"]

Row = dict[str, Any]
HEADS = {"line": "in one line", "here": "on this machine"}  # for people, where the key is for machines


def show_rows(rows: list[Row], as_json: bool) -> None:
    """Rows with the same keys as a table whose head they are, or as JSON."""
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    table = Table(*(HEADS.get(key, key) for key in rows[0]), box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(highlight=False).print(table)


def method_rows(methods: Mapping[str, Any], model: str = "any") -> list[Row]:
    """`model`: what is explained, where it need not be one of torch."""
    return [
        {"method": name, "line": m.line, "paper": m.paper, "model": "torch" if m.needs_gradients else model}
        for name, m in methods.items()
    ]


def check_rows(checks: Mapping[str, Any]) -> list[Row]:
    return [
        {
            "check": name,
            "run": "lightly" if c.light else "on demand" if c.costly else "default",
            "better": c.better,
            "line": c.line,
            "paper": c.paper,
        }
        for name, c in checks.items()
    ]


def compared_rows(comparison: Any) -> list[Row]:
    """How the candidates of `auto` did on validation rows, the chosen one first."""
    verdicts = {v.explanation: v.verdict for v in comparison.findings.verdicts}
    checks = {"fs-m": "fs-m", "fu-m": "fu-m", "reading": "reading", "share": "encoding-share"}
    rows = [
        {
            "method": name,
            **{head: _rounded(comparison.value(name, check)) for head, check in checks.items()},
            "verdict": verdict,
            "chosen": "yes" if name == comparison.chosen else "",
        }
        for name, verdict in verdicts.items()
    ]
    return sorted(rows, key=lambda row: row["chosen"] == "")


def _rounded(value: float) -> float | None:
    return round(value, 3) if value == value else None


def data_rows() -> list[Row]:
    return [
        {"data set": name, "kind": source.kind, "line": source.line, "here": available(name).partition(":")[0]}
        for name, source in DATASETS.items()
    ]


def data_facts(name: str) -> Row:
    """All about one data set."""
    base, options = named(name)
    source = DATASETS[base]
    facts: Row = {"data set": base, "kind": source.kind, "line": source.line, "here": available(base)}
    facts["options"] = list(source.options)
    facts |= {f"option {key}": source.meaning[key] for key in source.options if key in source.meaning}
    if options:
        facts["asked for"] = [f"{key}={value}" for key, value in options.items()]
    if source.bare:
        facts["write"] = f"{base}:VALUE sets {source.bare}, {base}:option=value any option"
    elif source.options:
        facts["write"] = f"{base}:option=value, several with commas"
    if source.hub:
        facts["hub"] = source.hub
    return facts


def data_step(action: str, name: str, as_json: bool) -> None:
    """`list` all data sets, or tell all about one."""
    if action not in ("list", "info"):
        hint = f"; for one data set: unmask data info {action}" if action in DATASETS else ""
        raise InputError(f"unmask data takes 'list' or 'info NAME', got {action!r}{hint}")
    if action == "list":
        show_rows(data_rows(), as_json)
        if not as_json and any(row["here"] == "missing" for row in data_rows()):
            print("\nmissing: set UNMASK_DATA to the folder that holds the files; unmask data info NAME says more")
    elif not name:
        raise InputError("say which data set: unmask data info NAME; unmask data lists them")
    elif as_json:
        print(json.dumps(data_facts(name), indent=1, ensure_ascii=False))
    else:
        _show_facts(data_facts(name))


def _show_facts(facts: Row) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for key, value in facts.items():
        table.add_row(HEADS.get(key, key), _cell(value))
    Console(highlight=False).print(table)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("–")
    return Text(", ".join(value) or "none" if isinstance(value, list) else str(value))
