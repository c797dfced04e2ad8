"""Networks for columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from unmask.nets.reader import Reader

__all__ = ["TableNet", "TableSelector", "mlp", "standard"]


def standard(x: Tensor, reader: Reader, centre: Tensor, scale: Tensor, kept: Tensor | None) -> Tensor:
    """Centred and scaled values times `kept`; a hidden or missing value becomes 0, that is the centre."""
    z = ((x - centre) / scale).nan_to_num()
    return z if kept is None else z * reader.layout.spread(kept.to(z))


def mlp(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """A perceptron; the last of `sizes` is its output, without activation."""
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes[:-1]):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class TableNet(nn.Module):
    """Classifier of columns (or of pixels taken as columns): a perceptron on kept values.

    Where `sees_mask`, it also gets which units are kept; `extra` is the number of further values given with a row.
    """

    centre: Tensor
    scale: Tensor

    def __init__(
        self,
        reader: Reader,
        classes: int,
        hidden: Sequence[int] = (200, 200),
        *,
        sees_mask: bool = False,
        activation: type[nn.Module] = nn.ReLU,
        extra: int = 0,
    ) -> None:
        super().__init__()
        self.reader, self.sees_mask = reader, sees_mask
        self.register_buffer("centre", reader.centre.clone())
        self.register_buffer("scale", reader.scale.clone())
        width = reader.centre.numel() + sees_mask * reader.layout.d + extra
        self.body = mlp([width, *hidden, classes], activation)

    def forward(self, x: Tensor, kept: Tensor | None = None, extra: Tensor | None = None) -> Tensor:
        z = standard(x, self.reader, self.centre, self.scale, kept).flatten(1)
        if self.sees_mask:
            mask = torch.ones(len(x), self.reader.layout.d).to(z) if kept is None else kept.to(z)
            z = torch.cat([z, mask], 1)
        return self.body(z if extra is None else torch.cat([z, extra.to(z)], 1))  # type: ignore[no-any-return]


class TableSelector(nn.Module):
    """Scores for the units of a table: L2X's perceptron on values, and on `kept` where part of the row is hidden.

    Where `feedback`, the model's answer stands beside the values (MEED).
    """

    def __init__(
        self,
        reader: Reader,
        hidden: Sequence[int] = (100, 100),
        activation: type[nn.Module] = nn.ReLU,
        feedback: int = 0,
        outputs: int = 1,
    ) -> None:
        super().__init__()
        self.reader, self.outputs = reader, outputs
        width = outputs * reader.layout.d
        self.net = TableNet(reader, width, hidden, sees_mask=True, activation=activation, extra=feedback)

    def forward(self, x: Tensor, kept: Tensor | None = None, answer: Tensor | None = None) -> Tensor:
        found: Tensor = self.net(x, kept, answer)
        return found if self.outputs == 1 else found.view(len(x), -1, self.outputs)
