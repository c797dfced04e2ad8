"""The command `reproduce`: a paper's tables, its figure beside ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from unmask import progress
from unmask.reproduce import PAPERS, tables_of
from unmask.reproduce.rendering import as_markdown, grid
from unmask.reproduce.running import Request, run, tables_so_far
from unmask.writing import write_text

__all__ = ["paper_rows", "render_step", "reproduce_step"]


def paper_rows() -> list[dict[str, Any]]:
    """What can be reproduced: one entry for each paper."""
    return [
        {
            "paper": name,
            "line": paper.title,
            "tables": ", ".join(dict.fromkeys(f"{t.name} ({t.dataset})" for t in tables_of(name))),
        }
        for name, paper in PAPERS.items()
    ]


def reproduce_step(request: Request, out: Path | None) -> None:
    """Run it, print it, write it."""
    result = run(request)
    if out is not None:
        write_text(out, json.dumps(result, indent=1) + "\n")
    _print(result)


def render_step(folder: Path, out: Path, scale: str, seeds: int) -> None:
    """All that was measured so far, as a page."""
    found = [tables_so_far(Request(paper, scale=scale, seeds=seeds, folder=folder)) for paper in PAPERS]
    write_text(out, as_markdown([result for result in found if result["rows"]]))
    progress.say(f"wrote {out}")


def _print(result: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{result['title']}[/bold], {result['scale']} scale; per cent, ours with a 95% interval")
    for title, head, body in grid(result):
        table = Table(*head, title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
        for row in body:
            table.add_row(*row)
        console.print(table)
    if result["absent"]:
        console.print(result["absent"])
