"""The command `reproduce`: a paper's tables, its figure beside ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from unmask import progress
from unmask.errors import UnmaskError
from unmask.reproduce import PAPERS, tables_of
from unmask.reproduce.pictures import curves, front, violins
from unmask.reproduce.rendering import as_markdown, grid
from unmask.reproduce.running import Request, run, seeds_apart, tables_so_far, warm_start
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
    if result["failed"]:
        told = "; ".join(f"{key}: {why}" for key, why in result["failed"].items())
        raise UnmaskError(f"{len(result['failed'])} rows could not be measured, the others are kept: {told}")


def render_step(folder: Path, out: Path, scale: str, seeds: int) -> None:
    """All that was measured so far, as a page with its pictures beside it."""
    asked = {paper: Request(paper, scale=scale, seeds=seeds, folder=folder) for paper in PAPERS}
    found = {paper: result for paper, request in asked.items() if (result := tables_so_far(request))["rows"]}
    pictures = {}
    if any(line["metric"] == "reading" for line in found.get("mimic", {"rows": ()})["rows"]):
        pictures["front.svg"] = front(found["mimic"])
    curve = warm_start(asked["meed"])
    if len(curve) > 1:
        pictures["warm-start.svg"] = curves(curve, "MEED on imdb with and without the gradient prior")
    for dataset, points in seeds_apart(asked["seat"]).items():
        pictures[f"seeds-{dataset.replace(':', '-')}.svg"] = violins(points, f"attention across seeds, {dataset}")
    for name, drawn in pictures.items():
        write_text(out.parent / name, drawn)
    write_text(out, as_markdown(list(found.values()), list(pictures)))
    progress.say(f"wrote {out}")


def _print(result: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{result['title']}[/bold], {result['scale']} scale; per cent, ours with a 95% interval")
    for title, head, body in grid(result):
        for first, columns in enumerate(_folds(head, body, console.width)):
            table = Table(title=None if first else title, title_justify="left", box=None, padding=(0, 1, 0, 0))
            for column in columns:
                table.add_column(head[column], no_wrap=True)
            for row in body:
                table.add_row(*(row[column] for column in columns))
            console.print(table)
    if result["absent"]:
        console.print(result["absent"])


def _folds(head: Sequence[str], body: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns that stand side by side: as many as fit, each time after the names of the rows."""
    wide = [max(len(row[c]) for row in (head, *body)) + 1 for c in range(len(head))]
    folds: list[list[int]] = []
    for column in range(1, len(head)):
        if not folds or sum(wide[c] for c in (*folds[-1], column)) > width:
            folds.append([0])
        folds[-1].append(column)
    return folds
