"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from unmask.data import DATASETS, available
from unmask.errors import InputError, unknown

__all__ = ["check_table", "data_step", "data_table", "method_table", "show_table"]


def show_table(table: Table) -> None:
    Console().print(table)


def method_table(methods: Mapping[str, Any]) -> Table:
    table = Table("method", "what it does", "paper", "model", box=None, padding=(0, 2, 0, 0))
    for name, method in methods.items():
        table.add_row(name, method.line, method.paper, "torch" if method.needs_gradients else "any")
    return table


def check_table(checks: Mapping[str, Any]) -> Table:
    table = Table("check", "better", "what it means", "paper", box=None, padding=(0, 2, 0, 0))
    for name, check in checks.items():
        table.add_row(name, "-" if check.better == "none" else check.better, check.line, check.paper)
    return table


def data_table() -> Table:
    table = Table("data set", "kind", "what it is", "here?", box=None, padding=(0, 2, 0, 0))
    for name, source in DATASETS.items():
        table.add_row(name, source.kind, source.line, available(name))
    return table


def data_step(action: str, name: str) -> None:
    """`list` all data sets, or tell all about one."""
    if action == "list":
        show_table(data_table())
    elif action == "info":
        _info(name)
    else:
        raise InputError(f"unmask data takes 'list' or 'info NAME', got {action!r}")


def _info(name: str) -> None:
    base = name.partition(":")[0]
    if base not in DATASETS:
        raise unknown("data set", base, DATASETS)
    source = DATASETS[base]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("name", base)
    table.add_row("kind", source.kind)
    table.add_row("what", source.line)
    table.add_row("here?", available(base))
    table.add_row("options", ", ".join(source.options) or "none")
    show_table(table)
