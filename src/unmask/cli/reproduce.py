"""The command `reproduce`: a paper's tables, its figure beside ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from unmask import progress
from unmask.cli.steps import check_place
from unmask.cli.tables import show_rows
from unmask.errors import InputError, UnmaskError
from unmask.reproduce import PAPERS, tables_of
from unmask.reproduce.figures import FIGURES, drawn, narrowed
from unmask.reproduce.rendering import as_markdown, claim_of, grid, measured
from unmask.reproduce.running import Request, run, seeds_stored, tables_so_far
from unmask.writing import write_text

__all__ = ["list_step", "paper_rows", "render_step", "reproduce_step"]


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


def list_step(out: Path | None) -> None:
    """What can be reproduced, printed or written."""
    if out is None:
        show_rows(paper_rows(), as_json=False)
    else:
        write_text(out, json.dumps(paper_rows(), indent=1) + "\n")


def reproduce_step(request: Request, out: Path | None, figure: str | None = None, folder: Path = Path()) -> None:
    """Run it, print it, write it; or draw a figure into the folder."""
    if figure is not None:
        _draw(request, figure, folder)
        return
    if out is not None:
        check_place(out.parent)
    result = run(request)
    if out is not None:
        write_text(out, json.dumps(result, indent=1) + "\n")
    _print(result)
    if result["failed"]:
        told = "; ".join(f"{key}: {why}" for key, why in result["failed"].items())
        raise UnmaskError(f"{len(result['failed'])} rows could not be measured, the others are kept: {told}")


def render_step(folder: Path, out: Path, scale: str) -> None:
    """All that was measured so far, of all seeds, as a page with its pictures beside it."""
    seeds = seeds_stored(folder, scale)
    asked = {paper: Request(paper, scale=scale, seeds=seeds, folder=folder) for paper in PAPERS}
    found = {paper: measured(tables_so_far(request), request.tables()) for paper, request in asked.items()}
    found = {paper: result for paper, result in found.items() if result["rows"]}
    if not found:
        raise InputError(f"{folder} has no results of the {scale} scale: run unmask reproduce PAPER first")
    pictures: dict[str, str] = {}
    for paper, figure in FIGURES:
        if found.get(paper):
            pictures |= drawn(asked[paper], figure)
    for name, picture in pictures.items():
        write_text(out.parent / name, picture)
    write_text(out, as_markdown(list(found.values()), list(pictures)))
    progress.say(f"wrote {out}")


def _draw(request: Request, figure: str, folder: Path) -> None:
    """Draw one figure of a paper; where it shows what was measured, that is measured first."""
    pictures = drawn(request, figure)
    if not pictures:
        run(narrowed(request, figure))
        pictures = drawn(request, figure)
    for name, picture in pictures.items():
        write_text(folder / name, picture)
        progress.say(f"wrote {folder / name}")
    if not pictures:
        raise UnmaskError(f"there is nothing to draw yet: run unmask reproduce {request.paper} with the rows it shows")


def _print(result: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{result['title']}[/bold], {result['scale']} scale; per cent, ours with a 95% interval")
    for title, head, body in grid(result):
        claim = claim_of(result, title)
        for first, columns in enumerate(_folds(head, body, console.width)):
            table = Table(title=None if first else title, title_justify="left", box=None, padding=(0, 1, 0, 0))
            for column in columns:
                table.add_column(head[column], no_wrap=True)
            for row in body:
                table.add_row(*(row[column] for column in columns))
            console.print(table)
        for text in claim:
            console.print(f"{text}\n")
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
