"""Reports that no audit made, written and read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from report import invented
from unmask.report import Report
from unmask.stored import Stored, read_report
from unmask.types import Findings


def findings(**levels: float) -> Findings:
    """The invented findings, numbers of l2x replaced: `fs_m=0.5`."""
    wanted = {name.replace("_", "-"): value for name, value in levels.items()}
    base = invented.findings()

    def changed(row: Any) -> Any:
        if row.explanation != "l2x" or row.check not in wanted:
            return row
        half = (row.high - row.low) / 2
        value = wanted[row.check]
        return replace(row, value=value, low=value - half, high=value + half)

    return replace(base, rows=tuple(map(changed, base.rows)))


def stored(tmp_path: Path, found: Findings | None = None, name: str = "report.json") -> Stored:
    return read_report(Report(found or findings()).save(tmp_path / name))
