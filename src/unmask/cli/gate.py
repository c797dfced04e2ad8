"""The commands over reports that are written: check one against a requirement, compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.options import JsonOption, examples

__all__ = ["gate"]

gate = typer.Typer()


@gate.command(
    epilog=examples(
        'unmask check report.json --require "fs-m>0.9 and encoding<0.2"',
        'unmask check report.json --require "verdict!=reject and (meed:reading>0.8 or meed:fu-m<0.4)" --strict',
    )
)
def check(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="report.json, as unmask audit wrote it.")],
    require: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Comparisons of checks (or verdict) joined by and, or, not and brackets; encoding is short for "
            "encoding-share, name:fs-m>0.9 is about one explanation, all others about each that is no control.",
        ),
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="The whole interval must hold, not the value alone.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """See whether a report holds to a requirement: for machines that build and test.

    Exit code 0 when it holds, 1 when it does not, 2 when report or rule
    cannot be read. A number that is missing does not hold.
    """
    from unmask.cli.judging import check_step

    raise typer.Exit(check_step(report, require, strict, json))


@gate.command(
    epilog=examples("unmask compare before/report.json after/report.json", "unmask compare a.json b.json --json")
)
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A report.json.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one of the same task.")],
    json: JsonOption = False,
) -> None:
    """Tell what changed between two reports, and whether it is more than chance.

    Row by row where both saw the same rows with the same seed, otherwise by
    the intervals; adjusted for the number of comparisons (Holm). Reports of
    other data, or without an explanation in common, are refused (exit code 2).
    """
    from unmask.cli.judging import compare_step

    compare_step(before, after, json)
