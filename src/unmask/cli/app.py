"""The commands: what goes in, what comes out, an example of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.gate import gate
from unmask.cli.more import more
from unmask.cli.options import (
    BudgetOption,
    ChecksOption,
    DataOption,
    DropOption,
    ExplainersOption,
    KindOption,
    KOption,
    LabelOption,
    MethodOption,
    MethodsOption,
    ModelOption,
    OutputsOption,
    PartsOption,
    RemovalOption,
    ReportOption,
    RowsOption,
    ScoresOption,
    SeedOption,
    SplitOption,
    TakesOption,
    TaskOption,
    TextOption,
    examples,
)
from unmask.cli.trained import SetOption, trained

__all__ = ["app"]

app = typer.Typer(
    name="unmask",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"unmask {metadata.version('unmask')}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=examples("unmask demo", "unmask audit --model reference --data tumours --k 4 --method occlusion"),
)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Explain what a model looks at, and find out whether an explanation can be trusted.

    An explanation keeps the few inputs that matter. The audit asks:
    is it enough, is it needed, does the choice itself smuggle the answer?
    Every number stands beside that of random choices.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=examples("unmask demo", "unmask demo --task reviews --out tour"))
def demo(
    task: TaskOption = "digits",
    out: ReportOption = Path("."),
    seed: SeedOption = 0,
) -> None:
    """See the whole job on embedded data, one of the explainers being a liar.

    Trains a model, explains it in several ways and audits them all.
    Needs no file and no network. Prints a verdict on each explanation;
    writes report.html (open it in a browser) and report.json.
    """
    from unmask.cli.demo import run_demo

    run_demo(task, out, seed)


@app.command(
    epilog=examples(
        "unmask fit --model reference --data tumours --k 4 --out selector",
        "unmask fit --model my:forest --data loans.csv --label paid --k 3 --out loans",
        "unmask fit --model reference --data reviews --k 3 --method l2x --set cure=pretraining --out selector",
    )
)
def fit(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the explainer is saved.")],
    method: MethodOption = "auto",
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    outputs: OutputsOption = None,
    takes: TakesOption = None,
    drop: DropOption = None,
    parts: PartsOption = None,
    removal: RemovalOption = None,
    seed: SeedOption = 0,
    settings: SetOption = None,
) -> None:
    """Fit an explainer to a model and save it.

    In go a model and data like those it was trained on. Out comes a folder
    for 'unmask explain' and 'unmask audit'; the model is not saved in it.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steps import FitRequest, fit_step

    source = Source(model, data, label, text, kind, outputs, takes, seed, tuple(drop or ()), parts)
    fit_step(source, FitRequest(method, k, removal, tuple(settings or ())), out)


@app.command(
    epilog=examples(
        "unmask explain selector --model reference --data tumours",
        "unmask explain loans --model my:forest --data loans.csv --label paid --show 9",
    )
)
def explain(
    explainer: Annotated[Path, typer.Argument(metavar="EXPLAINER", help="Folder written by: unmask fit.")],
    model: ModelOption,
    data: DataOption,
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    outputs: OutputsOption = None,
    takes: TakesOption = None,
    drop: DropOption = None,
    parts: PartsOption = None,
    split: SplitOption = "test",
    show: Annotated[int, typer.Option(metavar="N", help="How many rows to draw.", min=0)] = 3,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all rows as JSON.")] = None,
    seed: SeedOption = 0,
) -> None:
    """Explain rows with a saved explainer: draw some, write all.

    In go the folder, the model and data. Blue speaks for the class the model
    predicts, orange against it; what is kept stands out. The JSON holds
    scores, kept (numbers of units) and target, one entry for each row.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steps import explain_step

    source = Source(model, data, label, text, kind, outputs, takes, seed, tuple(drop or ()), parts)
    explain_step(source, explainer, split, show, out)


@app.command(
    epilog=examples(
        "unmask audit --model reference --data tumours --k 4 --method l2x",
        "unmask audit --model my:net --outputs logits --data x.npz --k 9 --scores s.npy",
        "unmask audit --model forest.onnx --data loans.csv --label paid --k 3 --scores shap.npz",
        "unmask audit --model reference --data tumours --k 4 --method l2x --checks all --budget 5m",
    )
)
def audit(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    method: MethodsOption = None,
    explainer: ExplainersOption = None,
    scores: ScoresOption = None,
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    outputs: OutputsOption = None,
    takes: TakesOption = None,
    drop: DropOption = None,
    parts: PartsOption = None,
    removal: RemovalOption = None,
    split: SplitOption = "test",
    rows: RowsOption = 500,
    checks: ChecksOption = "default",
    budget: BudgetOption = None,
    out: ReportOption = Path("."),
    seed: SeedOption = 0,
) -> None:
    """Audit explanations of your model: methods by name, saved explainers, scores made elsewhere.

    Prints a verdict on each, trust, care or reject, with the reasons;
    writes report.html and report.json.

    Scores belong to the rows of the split, in its order; --seed splits a
    file, so another seed means other rows. In Python the split is:

    \b
    from unmask.data import read
    read("loans.csv", label="paid", seed=0).test

    After Ctrl-C the same command goes on where it stopped.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steps import AuditRequest, audit_step

    source = Source(model, data, label, text, kind, outputs, takes, seed, tuple(drop or ()), parts)
    names = [name.strip() for name in checks.split(",")]
    given = AuditRequest(method or [], explainer or [], scores or [], k, split, rows, removal, names, budget)
    audit_step(source, given, out)


app.add_typer(gate)
app.add_typer(trained)
app.add_typer(more)
