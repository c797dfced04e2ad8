"""The commands: what goes in, what comes out, an example of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.more import more
from unmask.cli.options import (
    STEADY,
    ChecksOption,
    DataOption,
    KindOption,
    KOption,
    LabelOption,
    MethodOption,
    ModelOption,
    OutputsOption,
    RemovalOption,
    ReportOption,
    SeedOption,
    SplitOption,
    TakesOption,
    TaskOption,
    TextOption,
    examples,
    offered,
)
from unmask.methods import METHODS, MODELS

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
    removal: RemovalOption = None,
    seed: SeedOption = 0,
) -> None:
    """Fit an explainer to a model and save it.

    In go a model and data like those it was trained on. Out comes a folder
    for 'unmask explain' and 'unmask audit'; the model is not saved in it.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steps import fit_step

    fit_step(Source(model, data, label, text, kind, outputs, takes, seed), method, k, removal, out)


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
    split: SplitOption = "test",
    show: Annotated[int, typer.Option(metavar="N", help="How many rows to draw.")] = 3,
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

    explain_step(Source(model, data, label, text, kind, outputs, takes, seed), explainer, split, show, out)


@app.command(
    epilog=examples(
        "unmask audit --model reference --data tumours --k 4 --method l2x",
        "unmask audit --model my:net --outputs logits --data x.npz --k 9 --scores s.npy",
        "unmask audit --model reference --data tumours --k 4 --method l2x --checks default,fs-a,sen",
    )
)
def audit(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="A method to fit and audit; may be repeated. See: unmask methods.",
            autocompletion=offered(METHODS),
        ),
    ] = None,
    explainer: Annotated[
        list[Path] | None, typer.Option(metavar="FOLDER", help="A saved explainer; may be repeated.")
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Scores made elsewhere, an .npy file (rows, units); may be repeated."),
    ] = None,
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    outputs: OutputsOption = None,
    takes: TakesOption = None,
    removal: RemovalOption = None,
    split: SplitOption = "test",
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows are drawn for the audit.")] = 500,
    checks: ChecksOption = "default",
    out: ReportOption = Path("."),
    seed: SeedOption = 0,
) -> None:
    """Audit explanations of your model: methods by name, saved explainers, scores made elsewhere.

    Prints a verdict on each, trust, care or reject, with the reasons;
    writes report.html and report.json.

    Scores belong to the rows of the split, in its order. In Python it is:
    unmask.data.read("loans.csv", label="paid", seed=0).test

    After Ctrl-C the same command goes on where it stopped.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steps import AuditRequest, audit_step

    source = Source(model, data, label, text, kind, outputs, takes, seed)
    names = [name.strip() for name in checks.split(",")]
    audit_step(source, AuditRequest(method or [], explainer or [], scores or [], k, split, rows, removal, names), out)


@app.command(
    epilog=examples(
        "unmask steady --model examples.attention_model:model --data reviews --k 3",
        "unmask steady --model my:net --outputs logits --attention layers.attention --data tweets.csv --k 5",
    )
)
def steady(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The part of your torch module that gives out the weights, one for each word; not needed where the "
            "model has attend and answer, or was wrapped with it.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="How it is trained on.", autocompletion=offered(STEADY))
    ] = "seat",
    epochs: Annotated[int, typer.Option(metavar="N", help="How many epochs it is trained on.")] = 3,
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    outputs: OutputsOption = None,
    takes: TakesOption = None,
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows are drawn for the audits.")] = 300,
    out: ReportOption = Path("."),
    seed: SeedOption = 0,
) -> None:
    """Make the attention of your model steady: audit it, train it on, audit it again.

    Steady attention stays where it was when words change a little, says the
    same as before and looks at the same words (SEAT, Hu et al. 2023).
    Writes one report of both models and the weights of the steady one.
    """
    from unmask.cli.sources import Source
    from unmask.cli.steady import SteadyRequest, steady_step

    source = Source(model, data, label, text, kind, outputs, takes, seed)
    steady_step(source, SteadyRequest(k, method, attention, epochs, rows), out)


@app.command(
    epilog=examples(
        "unmask rationalize --data reviews:unit=sentences --keep 1",
        "unmask rationalize --data tickets.csv --text body --label team --keep 0.2 --method mcd",
    )
)
def rationalize(
    data: DataOption,
    keep: Annotated[
        float, typer.Option(metavar="K", help="How much of a row it may read: a number of units, or a share like 0.2.")
    ],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Which model (see unmask methods).", autocompletion=offered(MODELS))
    ] = "a2r",
    label: LabelOption = None,
    text: TextOption = None,
    kind: KindOption = None,
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows are drawn for the audit.")] = 300,
    show: Annotated[int, typer.Option(metavar="N", help="How many test rows are shown with their rationales.")] = 3,
    out: ReportOption = Path("."),
    seed: SeedOption = 0,
) -> None:
    """Train a model that explains itself: it chooses a few units of a row, and answers from them alone.

    Says how right it is, shows rationales, and audits it: does the choice
    smuggle the answer, are choice and answer locked into each other (Yu et
    al. 2021), does the answer depend on nothing else? Writes the model and
    the report.
    """
    from unmask.cli.rationalize import RationaleRequest, rationalize_step
    from unmask.cli.sources import Source

    rationalize_step(
        Source("reference", data, label, text, kind, None, None, seed), RationaleRequest(keep, method, rows, show), out
    )


app.add_typer(more)
