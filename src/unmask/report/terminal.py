"""The verdict table for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.report.wording import ARROWS, DECIDING, ESTIMATED, SYMBOLS, find, names_of, number, said

if TYPE_CHECKING:
    from unmask.change import Change
    from unmask.types import Findings, Verdict

__all__ = ["summary"]

WIDEST = 28  # characters for a name before it is broken
COLOURS = {"trust": "bold green", "care": "bold yellow", "reject": "bold red"}


def summary(findings: Findings) -> Group:
    """Verdicts with the deciding numbers, each beside the random control's, and the reasons below."""
    head = Text.assemble(("task   ", "dim"), findings.task, "\n", ("model  ", "dim"), findings.model)
    reasons = [_reasons(verdict) for verdict in findings.verdicts if verdict.explanation not in findings.controls]
    changes = [_changes(findings.changes)] if findings.changes else []
    return Group(head, "", _table(findings), Text("in brackets: the random control", "dim"), *reasons, *changes)


def _table(findings: Findings) -> Table:
    there = {row.check for row in findings.rows if row.check in ESTIMATED or math.isfinite(row.value)}
    checks = [check for check in DECIDING if check in there]
    names = names_of(findings)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 0))
    table.add_column("explanation", overflow="fold", max_width=WIDEST)
    table.add_column("verdict", no_wrap=True)
    for check in checks:
        name = check.replace("-", "-\n") if len(check) > 10 else check
        table.add_column(f"{name} {_arrow(findings, check)}".strip(), justify="right")
    verdicts = {v.explanation: v.verdict for v in findings.verdicts}
    for name in names:
        word = verdicts.get(name)
        judged = Text(f"{SYMBOLS[word]} {word}", COLOURS[word]) if word else Text("reference", "dim")
        table.add_row(Text(name), judged, *(_cell(findings, name, check) for check in checks))
    return table


def _changes(changes: tuple[Change, ...]) -> Group:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("test rows", "before", "after"):
        table.add_column(title, justify="left" if title == "test rows" else "right", no_wrap=True)
    table.add_column("")
    for change in changes:
        name = f"{change.name} {ARROWS[change.better]}"
        table.add_row(name, number(change.before), Text(number(change.after), "bold"), Text(change.told, "dim"))
    return Group(Text("\nwhat the training changed", "bold"), table)


def _arrow(findings: Findings, check: str) -> str:
    return next(ARROWS[row.better] for row in findings.rows if row.check == check)


def _cell(findings: Findings, name: str, check: str) -> Text:
    row = find(findings, name, check)
    if row is None:
        return Text("–", "dim")
    null = "" if row.null is None else f" ({said(check, row.null, _short)})"
    return Text.assemble(said(check, row.value, _short), (null, "dim"))


def _short(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _reasons(verdict: Verdict) -> Group:
    head = Text.assemble("\n", (verdict.explanation, "bold"), ": ", (verdict.verdict, COLOURS[verdict.verdict]))
    return Group(head, *(Padding(Text(reason), (0, 0, 0, 2)) for reason in verdict.reasons))
