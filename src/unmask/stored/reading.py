"""A report, from disk or fresh from an audit, checked: what is no report is refused in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from unmask.errors import InputError
from unmask.writing import read_json

__all__ = ["Fresh", "Number", "Stored", "as_stored", "read_report"]

VERDICTS = ("reject", "care", "trust")


@dataclass(frozen=True)
class Number:
    """One number of a report; nan where the check had no value."""

    value: float
    low: float
    high: float
    better: str
    n: int
    note: str = ""
    values: tuple[float, ...] = ()  # one for each row, where the report holds them


@dataclass(frozen=True)
class Stored:
    """A report: its numbers by (explanation, check), a point of a curve being `check@at=0.1`."""

    name: str
    task: str
    model: str
    numbers: Mapping[tuple[str, str], Number]
    verdicts: Mapping[str, str]
    controls: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def explanations(self) -> list[str]:
        """All but the controls, in the order of the report."""
        return [
            name for name in dict.fromkeys([*self.verdicts, *(e for e, _ in self.numbers)]) if not self._control(name)
        ]

    @property
    def checks(self) -> list[str]:
        return list(dict.fromkeys(check for _, check in self.numbers))

    def _control(self, name: str) -> bool:
        return name in self.controls


class Fresh(Protocol):
    """A report as `unmask.audit` returns it."""

    @property
    def findings(self) -> Any: ...

    def to_json(self) -> dict[str, Any]: ...


def as_stored(given: Stored | Fresh | str | Path) -> Stored:
    """A report that was read, that an audit returned, or the path of its JSON."""
    if isinstance(given, Stored):
        return given
    if isinstance(given, str | Path):
        return read_report(given)
    if hasattr(given, "findings") and hasattr(given, "to_json"):
        return _read(given.to_json(), f"the report of {given.findings.task}")
    raise InputError(
        f"a report must be what unmask.audit returned, or the path of its report.json, got {type(given).__name__}"
    )


def read_report(path: str | Path) -> Stored:
    """The report that `unmask audit` wrote as JSON."""
    return _read(read_json(Path(path), "a report that unmask wrote"), str(path))


def _read(facts: Any, name: str) -> Stored:
    try:
        rows, verdicts = facts["rows"], facts["verdicts"]
        return Stored(
            name=name,
            task=str(facts["task"]),
            model=str(facts["model"]),
            numbers={(str(row["explanation"]), _label(row)): _number(row) for row in rows},
            verdicts={str(v["explanation"]): _verdict(v["verdict"]) for v in verdicts},
            controls=tuple(map(str, facts.get("controls", ()))),
            settings=dict(facts.get("settings", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{name} is no report of unmask ({type(error).__name__}: {error}); expected report.json"
        ) from error


def _label(row: Mapping[str, Any]) -> str:
    at = row.get("at")
    return str(row["check"]) if at is None else f"{row['check']}@at={at:g}"


def _number(row: Mapping[str, Any]) -> Number:
    values = tuple(float(v) for v in str(row.get("values", "")).split())
    value, low, high = (math.nan if row[key] is None else float(row[key]) for key in ("value", "low", "high"))
    return Number(value, low, high, str(row["better"]), int(row["n"]), str(row.get("note", "")), values)


def _verdict(word: Any) -> str:
    if word not in VERDICTS:
        raise ValueError(f"verdict {word!r}")
    return str(word)
