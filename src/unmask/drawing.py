"""One explained row, drawn for the terminal, a notebook or a page; no tensor in sight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Drawing", "Row"]


@dataclass(frozen=True)
class Row:
    """One row and its explanation as plain lists (padding left out).

    `values` are words, sentences (each one string), column values, or channels x height x width pixels, flat.
    """

    kind: str  # "table", "image", "words" or "sentences"
    values: list[Any]
    scores: list[float]  # one for each unit, signed toward `label`
    kept: list[bool]
    label: str  # the class explained
    units: list[str] = field(default_factory=list)  # names of the units (tables, images)
    owner: list[int] = field(default_factory=list)  # unit of each column or pixel position
    shape: list[int] = field(default_factory=list)  # of one row: [columns] or [channels, height, width]


@dataclass(frozen=True)
class Drawing:
    """A row that draws itself: `print(d)` in a terminal, `d.html` in a page, last in a notebook cell."""

    row: Row
