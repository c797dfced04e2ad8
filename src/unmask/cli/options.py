"""The options that commands share, and what the shell offers when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.attention import METHODS as ATTENTION
from unmask.audit import CHECKS
from unmask.data import DATASETS
from unmask.masking import REMOVALS
from unmask.methods import METHODS

__all__ = [
    "ENDINGS",
    "KINDS",
    "OUTPUTS",
    "SPLITS",
    "STEADY",
    "TAKES",
    "TASKS",
    "AddressOption",
    "BackendOption",
    "BudgetOption",
    "ChecksOption",
    "DataOption",
    "DropOption",
    "ExplainersOption",
    "FigureOption",
    "GpusOption",
    "JsonOption",
    "KOption",
    "KindOption",
    "LabelOption",
    "MethodOption",
    "MethodsOption",
    "MetricOption",
    "ModelOption",
    "OutputsOption",
    "PartsOption",
    "RemovalOption",
    "ReportOption",
    "RowsOption",
    "ScoresOption",
    "SeedOption",
    "SplitOption",
    "TakesOption",
    "TaskOption",
    "TextOption",
    "data_names",
    "examples",
    "model_names",
    "offered",
]

TASKS = {"digits": "images", "reviews": "words", "tumours": "a table"}
STEADY = {name: method for name, method in ATTENTION.items() if name != "attention"}
SPLITS = ("train", "validation", "test")
OUTPUTS = ("logits", "probabilities")
TAKES = ("array", "frame", "text")
KINDS = ("table", "image", "words", "sentences")
ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".npz", ".parquet")
YOURS = "Your model and data"


def examples(*commands: str) -> str:
    """The last lines of a command's help."""
    return "\n\n".join(["For example:", *commands])


def offered(table: Mapping[str, Any] | Iterable[str]) -> Callable[[str], list[tuple[str, str]]]:
    """A completion function: the names that start with what is typed, each with its line where it has one."""
    lines = table if isinstance(table, Mapping) else dict.fromkeys(table, "")

    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(n, str(getattr(v, "line", v))) for n, v in lines.items() if n.startswith(incomplete)]

    return complete


def data_names(incomplete: str) -> list[tuple[str, str]]:
    """Data sets by name, and the files and folders that start with what is typed."""
    return [*offered(DATASETS)(incomplete), *_places(incomplete, ENDINGS)]


def model_names(incomplete: str) -> list[tuple[str, str]]:
    """The reference model, ONNX files and folders."""
    return [*offered(["reference"])(incomplete), *_places(incomplete, (".onnx",))]


def _places(incomplete: str, endings: tuple[str, ...]) -> list[tuple[str, str]]:
    """Folders, and files with one of these endings, that start with what is typed."""
    typed = Path(incomplete)
    folder, start = (typed, "") if incomplete.endswith("/") else (typed.parent, typed.name)
    found = sorted(folder.glob(f"{start}*")) if folder.is_dir() else []
    places = [(f"{p}/", "folder") if p.is_dir() else (str(p), "file") for p in found]
    return [(name, what) for name, what in places if what == "folder" or name.endswith(endings)]


ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="What to explain: an ONNX file; a Hugging Face folder; 'package.module:name', a model or a function "
        "without arguments that returns one (the current folder is searched too); or 'reference' to train a small "
        "model on the data.",
        autocompletion=model_names,
        rich_help_panel=YOURS,
    ),
]
DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="FILE|NAME",
        help="A file (csv, jsonl, parquet, npz) or a data set's name; see: unmask data.",
        autocompletion=data_names,
        rich_help_panel=YOURS,
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The column of the file with the class.", rich_help_panel=YOURS),
]
TextOption = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="The column of the file with the text; without it all other columns are a table.",
        rich_help_panel=YOURS,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="A column of the file that the model does not get, such as a number of the row; may be repeated.",
        rich_help_panel=YOURS,
    ),
]
PartsOption = Annotated[
    str | None,
    typer.Option(
        "--parts",
        metavar="COLUMN",
        help="The column of the file that says train, validation or test; without it rows are divided 60/20/20.",
        rich_help_panel=YOURS,
    ),
]
KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"What the rows of the file are: {', '.join(KINDS)}; seen from the file where you do not say.",
        autocompletion=offered(KINDS),
        rich_help_panel=YOURS,
    ),
]
OutputsOption = Annotated[
    str | None,
    typer.Option(
        "--outputs",
        metavar="WHAT",
        help="What a torch model or an ONNX graph returns: logits or probabilities. It has to be said.",
        autocompletion=offered(OUTPUTS),
        rich_help_panel=YOURS,
    ),
]
TakesOption = Annotated[
    str | None,
    typer.Option(
        "--takes",
        metavar="WHAT",
        help="What the model is fed: array, frame (a data frame) or text (whole texts); seen from the model where "
        "you do not say.",
        autocompletion=offered(TAKES),
        rich_help_panel=YOURS,
    ),
]
KOption = Annotated[
    int,
    typer.Option("--k", metavar="K", help="How many units (columns, pixels, words) an explanation keeps in each row."),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Same seed, same result; it also splits files.")]
RemovalOption = Annotated[
    str | None,
    typer.Option(
        "--removal",
        metavar="NAME",
        help=f"How units that are not kept are hidden: {', '.join(REMOVALS)}; chosen by the kind of data where you "
        "do not say.",
        autocompletion=offered(REMOVALS),
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="How to explain; auto fits several and keeps the best that does not smuggle. See: unmask methods.",
        autocompletion=offered(["auto", *METHODS]),
    ),
]
MethodsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="A method to fit and audit; may be repeated. See: unmask methods.",
        autocompletion=offered(METHODS),
    ),
]
FigureOption = Annotated[
    str | None,
    typer.Option(
        "--figure",
        metavar="F",
        help="A figure instead of tables; a2r has 1, 2 and 5, meed 3, mimic front, seat 2 and 5.",
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="One metric only, such as fs-m; may be repeated."),
]
ExplainersOption = Annotated[
    list[Path] | None, typer.Option("--explainer", metavar="FOLDER", help="A saved explainer; may be repeated.")
]
ScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Scores made elsewhere, rows by units: npy, npz (SHAP's values and base_values too), csv, parquet or "
        "json; may be repeated.",
    ),
]
RowsOption = Annotated[int, typer.Option("--rows", metavar="N", help="How many rows are drawn for the audit.")]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="About how long it may take, as in 60s, 5m or 1h: checks that do not fit are left out, and it is said.",
    ),
]
SplitOption = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="NAME",
        help="Which rows: train, validation or test.",
        autocompletion=offered(SPLITS),
    ),
]
ChecksOption = Annotated[
    str,
    typer.Option(
        "--checks",
        metavar="NAMES",
        help="What to measure: default, all, or names with commas, as in default,fs-a; those a verdict needs are "
        "always run. See: unmask checks.",
        autocompletion=offered({"default": "every question, some lightly", "all": "everything in full", **CHECKS}),
    ),
]
ReportOption = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where report.html and report.json are written.")
]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="joblib|ray",
        help="Who does the work: processes of this machine, or a Ray cluster (extra ray).",
        autocompletion=offered(["joblib", "ray"]),
    ),
]
AddressOption = Annotated[
    str | None, typer.Option("--address", metavar="HOST:PORT", help="Of the Ray cluster; without it one starts here.")
]
GpusOption = Annotated[
    float, typer.Option("--gpus", metavar="PART", help="With Ray: the part of a GPU for each task, such as 0.25.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
TaskOption = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="NAME",
        help=", ".join(f"{name} ({what})" for name, what in TASKS.items()) + ".",
        autocompletion=offered(TASKS),
    ),
]
