"""The report a user holds: verdicts, a table, a page and a file for machines."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import InputError
from unmask.report.plain import agreement, as_json, row_columns
from unmask.writing import write_text

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType

    from unmask.types import Findings, Verdict

__all__ = ["Report"]


@dataclass(frozen=True, repr=False)
class Report:
    """What an audit found; print it, leave it last in a notebook cell, or save it as .html or .json."""

    findings: Findings

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.findings.verdicts

    @property
    def table(self) -> pandas.DataFrame:
        """One row for each number of the audit."""
        import pandas

        names = row_columns()
        return pandas.DataFrame([[getattr(row, name) for name in names] for row in self.findings.rows], columns=names)

    @property
    def agreement(self) -> dict[str, pandas.DataFrame]:
        """Measure -> how far the explanations (rows) agree with one another (columns)."""
        import pandas

        return {name: pandas.DataFrame(by).T for name, by in agreement(self.findings).items()}

    @property
    def html(self) -> str:
        """The whole page; it loads nothing from anywhere."""
        from unmask.report.html import page

        return page(self.findings, _version())

    def to_json(self) -> dict[str, Any]:
        """Plain values only; what is not a finite number is None."""
        return as_json(self.findings, _version())

    def save(self, path: str | Path) -> Path:
        """Write `path` as a page (.html) or for machines (.json), whole or not at all."""
        path = Path(path).expanduser()
        ending = path.suffix.lower()
        if ending == ".html":
            return write_text(path, self.html)
        if ending == ".json":
            return write_text(path, json.dumps(self.to_json(), indent=1, allow_nan=False, ensure_ascii=False) + "\n")
        raise InputError(f"a report is saved as .html or .json, got {path.name!r}; give the file one of these endings")

    def __repr__(self) -> str:
        counts = Counter(v.verdict for v in self.verdicts)
        said = ", ".join(f"{counts[word]} {word}" for word in ("trust", "care", "reject"))
        return f"Report({self.findings.task!r}: {said})"

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, color_system=None, force_terminal=False, force_jupyter=False, legacy_windows=False)
        with console.capture() as text:
            console.print(self)
        return text.get().rstrip("\n")

    def __rich__(self) -> RenderableType:
        from unmask.report.terminal import summary

        return summary(self.findings)

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:48em;border:0" sandbox="" title="unmask report"'
        return f'<iframe {frame} srcdoc="{escape(self.html)}"></iframe>'


def _version() -> str:
    try:
        return metadata.version("unmask")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
