"""The commands that list what there is, and those that run much: papers again, and plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.audit import CHECKS
from unmask.cli.options import (
    AddressOption,
    BackendOption,
    FigureOption,
    GpusOption,
    JsonOption,
    MetricOption,
    examples,
    offered,
)
from unmask.data import DATASETS
from unmask.errors import InputError
from unmask.methods import METHODS, MODELS
from unmask.reproduce import PAPERS

__all__ = ["more"]

more = typer.Typer()
ScaleOption = Annotated[str, typer.Option(metavar="default|paper", help="How much data; paper takes everything.")]


RowsAtOnce = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Rows measured side by side; without it 2, on Ray all that fit.", min=1),
]


@more.command(epilog=examples("unmask methods", "unmask methods --json"))
def methods(json: JsonOption = False) -> None:
    """List what can explain: name, one line, paper, and which model it explains ("itself": see rationalize)."""
    from unmask.cli.tables import method_rows, show_rows

    show_rows([*method_rows(METHODS), *method_rows(MODELS, "itself")], json)


@more.command(epilog=examples("unmask checks", "unmask checks --json", "unmask checks --out docs/checks.md"))
def checks(
    json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write them as a page, with formulas and examples.")
    ] = None,
) -> None:
    """List what the audit measures: name, whether it is run by default, which direction is better, one line, paper."""
    from unmask.cli.tables import check_rows, show_rows

    if out is None:
        show_rows(check_rows(CHECKS), json)
        return
    from unmask.cli.checks import write_checks

    typer.echo(f"written: {write_checks(out)}")


@more.command(epilog=examples("unmask data", "unmask data info reviews", "unmask data list --json"))
def data(
    action: Annotated[
        str, typer.Argument(metavar="list|info", help="All, or one.", autocompletion=offered(["list", "info"]))
    ] = "list",
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="With info: the data set.", autocompletion=offered(DATASETS))
    ] = "",
    json: JsonOption = False,
) -> None:
    """List data sets: what they are and whether they are on this machine; or tell all about one."""
    from unmask.cli.tables import data_step

    data_step(action, name, json)


def _size(quick: bool, scale: str) -> str:
    if quick and scale != "default":
        raise InputError(f"--quick and --scale {scale} contradict each other: leave one out")
    return "quick" if quick else scale


@more.command(
    epilog=examples(
        "unmask reproduce list",
        "unmask reproduce meed --quick",
        "unmask reproduce shortcuts --table 3 --dataset imdb --seeds 3 --json table3.json",
        "unmask reproduce a2r --figure 2",
        "unmask reproduce render --out docs/results.md",
    )
)
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="list|PAPER|render",
            help="What there is; a paper; or all results so far as a page.",
            autocompletion=offered(["list", *PAPERS, "render"]),
        ),
    ] = "list",
    table: Annotated[str | None, typer.Option(metavar="T", help="One table only.")] = None,
    figure: FigureOption = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="One data set only.", autocompletion=offered(DATASETS))
    ] = None,
    row: Annotated[list[str] | None, typer.Option(metavar="ROW", help="One row only; may be repeated.")] = None,
    metric: MetricOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, words and epochs: minutes, not hours.")] = False,
    scale: ScaleOption = "default",
    seeds: Annotated[int, typer.Option(metavar="N", help="How many seeds; render shows all there are.", min=1)] = 1,
    jobs: RowsAtOnce = None,
    backend: BackendOption = "joblib",
    address: AddressOption = None,
    gpus: GpusOption = 0.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as JSON.")] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Where what is measured is kept.")] = Path("results"),
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="With render: the page. Figures are written beside it.")
    ] = Path("docs/results.md"),
) -> None:
    """Run the tables of a paper again: its figure beside ours.

    Rows that were measured before are not measured again: after Ctrl-C
    the same command goes on. Real data are read from UNMASK_DATA.
    """
    from unmask.cli.reproduce import list_step, render_step, reproduce_step
    from unmask.reproduce.running import Request

    size = _size(quick, scale)
    if paper == "list":
        list_step(json)
    elif paper == "render":
        render_step(results, out, size)
    else:
        rows, metrics = tuple(row or ()), tuple(metric or ())
        request = Request(paper, table, dataset, rows, size, seeds, jobs, results, metrics, backend, address, gpus)
        reproduce_step(request, json, figure, out.parent)


@more.command(
    epilog=examples(
        "unmask sweep --example > plan.toml",
        "unmask sweep plan.toml --list",
        "unmask sweep plan.toml --jobs 4 --out runs",
        "unmask sweep plan.toml --backend ray --address head:6379 --gpus 0.25",
    )
)
def sweep(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="A file like the one of --example.")] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where results are kept.")] = Path("sweep"),
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Tasks run side by side; without it as many as there are cores, with a GPU one.", min=1
        ),
    ] = None,
    backend: BackendOption = "joblib",
    address: AddressOption = None,
    gpus: GpusOption = 0.0,
    limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What takes longer, as in 30m or 2h, has failed, and is not tried again."),
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a plan with comments, to start from.")] = False,
    only_list: Annotated[bool, typer.Option("--list", help="Show the tasks and which are done; run none.")] = False,
    json: JsonOption = False,
) -> None:
    """Run many audits: data sets x models x methods x seeds x checks, as a plan says.

    The shortest plan, a file of four lines (--example prints a long one):

    \b
    datasets = ["digits", "tumours"]
    methods = ["l2x", "integrated-gradients"]
    k = 4
    seeds = 3

    Each task stands for itself: one that fails is tried again and then
    listed, and the others go on. Tasks that are done are not done again:
    after Ctrl-C, or with a longer plan, run the same command again. A task
    is known by its settings, by what is in its files and by the version of
    unmask and torch; weights that your own module reads are not seen, so
    take a new folder (--out) when they change. The same plan gives the
    same numbers on one machine and on many of the same kind.

    Writes results.parquet, a line for each number, and tasks/, a file for
    each task (extra parquet). Settings can be searched first (extra tune):
    the part tune of --example.
    """
    if example:
        from unmask.sweep import example as text

        typer.echo(text(), nl=False)
        return
    if plan is None:
        raise InputError("say which plan: unmask sweep plan.toml; unmask sweep --example prints one to start from")
    from unmask.audit.budget import seconds_of
    from unmask.cli.sweep import list_step, sweep_step
    from unmask.sweep.engine import Workers

    if only_list:
        list_step(plan, out, json)
    else:
        longest = None if limit is None else seconds_of(limit, "a limit")
        sweep_step(plan, out, Workers(backend, jobs, address, gpus, limit=longest), json)
