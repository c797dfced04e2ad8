"""The network to use where nobody names one."""

from __future__ import annotations

from typing import Literal

from torch import nn

from unmask import seeds
from unmask.nets.images import PixelNet, PixelSelector
from unmask.nets.reader import Reader
from unmask.nets.sentences import SentenceNet, SentenceSelector
from unmask.nets.tables import TableNet, TableSelector
from unmask.nets.words import WordNet, WordSelector

__all__ = ["ACTIVATIONS", "Activation", "Size", "default", "selector"]

Size = Literal["small", "medium"]
Activation = Literal["relu", "selu"]
ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "selu": nn.SELU}


def default(
    reader: Reader,
    classes: int,
    size: Size = "medium",
    *,
    sees_mask: bool = False,
    activation: Activation = "relu",
    context: int = 0,
    seed: int = 0,
) -> nn.Module:
    """A maskable classifier for rows as `reader` reads them, its weights drawn from `seed`.

    `sees_mask` tells the network which units are hidden, so that a kept 0 differs from a removed value; `activation` is
    that of perceptrons for tables. `context` gives the one for images a dense branch beside its convolutions.
    """
    small, kind = size == "small", reader.layout.kind
    with seeds.seeded(seed):
        if kind == "table":
            hidden = (128, 128) if small else (200, 200)
            return TableNet(reader, classes, hidden, sees_mask=sees_mask, activation=ACTIVATIONS[activation])
        if kind == "image":
            return PixelNet(reader, classes, *((16, 64) if small else (32, 128)), sees_mask=sees_mask, context=context)
        if kind == "words":
            return WordNet(reader, classes, *((50, 100) if small else (50, 250)), sees_mask=sees_mask)
        return SentenceNet(reader, classes, 50, 50 if small else 100, sees_mask=sees_mask)


def selector(
    reader: Reader,
    *,
    activation: Activation = "relu",
    feedback: int = 0,
    outputs: int = 1,
    context: int = 0,
    lively: bool = False,
    seed: int = 0,
) -> nn.Module:
    """A network `net(x, kept, answer) -> (n, d)` that gives each unit a score, its weights drawn from `seed`.

    With `feedback` classes it also reads the model's answer (n, feedback); with more than one of `outputs` the scores
    are (n, d, outputs). `context` lets the one for images see all of the image; the others do anyway. `lively`: the
    scores of words differ from the start.
    """
    kind = reader.layout.kind
    with seeds.seeded(seed):
        if kind == "table":
            way = ACTIVATIONS[activation]
            return TableSelector(reader, activation=way, feedback=feedback, outputs=outputs)
        if kind == "image":
            return PixelSelector(reader, feedback=feedback, outputs=outputs, context=context)
        if kind == "words":
            return WordSelector(reader, feedback=feedback, outputs=outputs, lively=lively)
        return SentenceSelector(reader, feedback=feedback, outputs=outputs)
