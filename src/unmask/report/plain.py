"""Findings as plain values that strict JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.heat import Heat
    from unmask.types import Findings, Result

__all__ = ["BETWEEN", "agreement", "as_json", "plain", "row_columns"]

ALWAYS = ("explanation", "check", "value", "low", "high", "null", "better", "passed", "n", "seconds")
BETWEEN = "@explanation="  # in the name of a check: between the explanation of the row and this one
SOMETIMES = ("at", "note")  # the point of a curve, a remark: left out of the JSON where there is none


def row_columns() -> list[str]:
    """Names of everything a row of the audit holds, in the order of the report."""
    return [*ALWAYS, *SOMETIMES]


def as_json(findings: Findings, version: str) -> dict[str, Any]:
    """The report as JSON, its keys in a fixed order."""
    verdicts = [
        {"explanation": v.explanation, "verdict": v.verdict, "reasons": list(v.reasons)} for v in findings.verdicts
    ]
    heats = [_heat(heat) for heat in findings.heats]
    return {
        "unmask": version,
        "task": findings.task,
        "model": findings.model,
        "rows": [_row(row) for row in findings.rows],
        "verdicts": verdicts,
        "agreement": plain(agreement(findings)),
        "controls": list(findings.controls),
        "settings": plain(findings.settings),
        "definitions": plain(findings.definitions),
        **({"changes": [plain(asdict(c)) for c in findings.changes]} if findings.changes else {}),
        **({"heats": heats} if heats else {}),
        **{name: plain(found) for name in ("places", "learning") if (found := getattr(findings, name))},
    }


def _heat(heat: Heat) -> dict[str, Any]:
    """Attention in one row: the words, and their weights in each line."""
    lines = [{"line": name, "weights": plain(weights)} for name, weights in heat.lines]
    about = {"explanation": heat.explanation, "label": heat.label, "words": list(heat.words)}
    return {**about, "lines": lines, "note": heat.note}


def agreement(findings: Findings) -> dict[str, dict[str, dict[str, float]]]:
    """Measure -> explanation -> other explanation -> how far they agree; controls are among the first only."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in findings.rows:
        measure, between, other = row.check.partition(BETWEEN)
        if between:
            found.setdefault(measure, {}).setdefault(row.explanation, {})[other] = row.value
    return found


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
