"""The commands that train the model itself: steadier attention, and models that explain themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.options import (
    STEADY,
    DataOption,
    KindOption,
    KOption,
    LabelOption,
    ModelOption,
    OutputsOption,
    ReportOption,
    SeedOption,
    TakesOption,
    TextOption,
    examples,
    offered,
)
from unmask.methods import MODELS

__all__ = ["SetOption", "trained"]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as cure=pretraining, feedback=true, device=cuda, recipe.epochs=5 or "
        "nets.encoder=transformer; may be repeated.",
    ),
]
trained = typer.Typer()


@trained.command(
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
        str,
        typer.Option(
            metavar="NAME",
            help="How it is trained on: seat is Equation 6 of the paper under dropout of word vectors, seat-words "
            "moves these as well.",
            autocompletion=offered(STEADY),
        ),
    ] = "seat-words",
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


@trained.command(
    epilog=examples(
        "unmask rationalize --data reviews:unit=sentences --keep 1",
        "unmask rationalize --data tickets.csv --text body --label team --keep 0.2 --method mcd",
        "unmask rationalize --data reviews --keep 0.1 --set nets.vectors=glove --set recipe.epochs=20",
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
    settings: SetOption = None,
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
        Source("reference", data, label, text, kind, None, None, seed),
        RationaleRequest(keep, method, rows, show, tuple(settings or ())),
        out,
    )
