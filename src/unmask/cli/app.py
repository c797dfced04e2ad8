"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.audit import CHECKS
from unmask.data import DATASETS
from unmask.explainers import METHODS
from unmask.masking import REMOVALS

__all__ = ["app"]

app = typer.Typer(
    name="unmask",
    help="Explain machine-learning models by selection, and audit any explanation: is it enough, is it needed, does "
    "the mask smuggle the answer? Start with: unmask demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _starting(names: Any) -> Any:
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="What to explain: 'package.module:name' (a model, or a function without arguments that returns one; the "
        "current folder is searched too), or 'reference' to train a small model on the data.",
    ),
]
DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        help="A file (csv, jsonl, parquet, npz) or a data set's name; see: unmask data.",
        autocompletion=_starting(DATASETS),
    ),
]
LabelOption = Annotated[str | None, typer.Option("--label", help="The column that holds the class.")]
TextOption = Annotated[str | None, typer.Option("--text", help="The column that holds the text, for texts.")]
KOption = Annotated[int, typer.Option("--k", help="How many units an explanation keeps in each row.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
RemovalOption = Annotated[
    str | None,
    typer.Option(
        "--removal", help="How hidden units are hidden; see the table below.", autocompletion=_starting(REMOVALS)
    ),
]
OutputsOption = Annotated[
    str | None, typer.Option("--outputs", help="What a torch model returns: 'logits' or 'probabilities'.")
]
MethodOption = Annotated[str, typer.Option("--method", help="See: unmask methods.", autocompletion=_starting(METHODS))]


@app.command()
def demo(
    task: Annotated[str, typer.Option(help="digits (images), reviews (words) or tumours (a table).")] = "digits",
    out: Annotated[Path, typer.Option(help="Folder for report.html and report.json.")] = Path("."),
    seed: SeedOption = 0,
) -> None:
    """The whole job on embedded data: train a model, explain it five ways, one of them a liar, and audit them all."""
    from unmask.cli.demo import run_demo

    run_demo(task, out, seed)


@app.command()
def fit(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    out: Annotated[Path, typer.Option(help="Folder to save the explainer in.")],
    method: MethodOption = "l2x",
    label: LabelOption = None,
    text: TextOption = None,
    outputs: OutputsOption = None,
    removal: RemovalOption = None,
    seed: SeedOption = 0,
) -> None:
    """Fit an explainer to a model and save it."""
    from unmask.cli.steps import fit_step, task_from

    task = task_from(model, data, label, text, outputs, seed)
    fit_step(task, method, k, removal, out)


@app.command()
def explain(
    explainer: Annotated[Path, typer.Argument(help="Folder written by: unmask fit.")],
    model: ModelOption,
    data: DataOption,
    label: LabelOption = None,
    text: TextOption = None,
    outputs: OutputsOption = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    show: Annotated[int, typer.Option(help="How many rows to draw in the terminal.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Write scores and kept units as JSON.")] = None,
    seed: SeedOption = 0,
) -> None:
    """Explain rows with a fitted explainer: draw some, write all."""
    from unmask.cli.steps import explain_step, task_from

    explain_step(task_from(model, data, label, text, outputs, seed), explainer, split, show, out)


@app.command()
def audit(
    model: ModelOption,
    data: DataOption,
    k: KOption,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="A method to fit and audit; may be repeated.", autocompletion=_starting(METHODS)),
    ] = None,
    explainer: Annotated[list[Path] | None, typer.Option(help="A saved explainer; may be repeated.")] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="An .npy file of scores, one row for each row of the split; may be repeated."),
    ] = None,
    label: LabelOption = None,
    text: TextOption = None,
    outputs: OutputsOption = None,
    removal: RemovalOption = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    rows: Annotated[int, typer.Option(help="How many rows are drawn for the audit.")] = 500,
    out: Annotated[Path, typer.Option(help="Folder for report.html and report.json.")] = Path("."),
    seed: SeedOption = 0,
) -> None:
    """Audit explanations of your model: methods by name, saved explainers, or scores made elsewhere."""
    from unmask.cli.steps import AuditRequest, audit_step, task_from

    task = task_from(model, data, label, text, outputs, seed)
    given = AuditRequest(method or [], explainer or [], scores or [], k, split, rows, removal)
    audit_step(task, given, out)


@app.command()
def methods() -> None:
    """What can explain: name, one line, paper."""
    from unmask.cli.tables import method_table, show_table

    show_table(method_table(METHODS))


@app.command()
def checks() -> None:
    """What the audit measures: name, direction, one line, paper."""
    from unmask.cli.tables import check_table, show_table

    show_table(check_table(CHECKS))


@app.command()
def data(
    action: Annotated[str, typer.Argument(help="list, or info.")] = "list",
    name: Annotated[str, typer.Argument(help="With info: a data set.", autocompletion=_starting(DATASETS))] = "",
) -> None:
    """Data sets: where they come from and whether they are on this machine."""
    from unmask.cli.tables import data_step

    data_step(action, name)
