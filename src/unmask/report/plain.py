"""Findings as plain values that strict JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.types import Findings, Result

__all__ = ["as_json", "plain", "row_columns"]

ALWAYS = ("explanation", "check", "value", "low", "high", "null", "better", "passed", "n", "seconds")
SOMETIMES = ("at", "note")  # the point of a curve, a remark: left out of the JSON where there is none


def row_columns() -> list[str]:
    """Names of everything a row of the audit holds, in the order of the report."""
    return [*ALWAYS, *SOMETIMES]


def as_json(findings: Findings, version: str) -> dict[str, Any]:
    """The report as JSON, its keys in a fixed order."""
    verdicts = [
        {"explanation": v.explanation, "verdict": v.verdict, "reasons": list(v.reasons)} for v in findings.verdicts
    ]
    return {
        "unmask": version,
        "task": findings.task,
        "model": findings.model,
        "rows": [_row(row) for row in findings.rows],
        "verdicts": verdicts,
        "controls": list(findings.controls),
        "settings": plain(findings.settings),
        "definitions": plain(findings.definitions),
    }


def _row(row: Result) -> dict[str, Any]:
    extra = {name: getattr(row, name) for name in SOMETIMES if getattr(row, name) not in (None, "")}
    always: dict[str, Any] = {name: plain(getattr(row, name)) for name in ALWAYS}
    values = {"values": " ".join(map(_short, row.values))} if row.values else {}
    return always | {name: plain(value) for name, value in extra.items()} | values


def _short(value: float) -> str:
    """Four digits are enough to compare rows; as one text they take a line of the file, not hundreds."""
    return f"{value:.4g}"


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries only; a number that is not finite becomes None."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if hasattr(value, "tolist"):  # scalars and arrays of numpy and torch
        return plain(value.tolist())
    return str(value)
