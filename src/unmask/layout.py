"""How units lie in the rows of a data set."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from unmask.errors import InputError

__all__ = ["Inputs", "Kind", "Layout", "Says"]

Kind = Literal["table", "image", "words", "sentences"]
Inputs = Any  # rows: float32 (n, columns) or (n, channels, height, width); list[list[str]], one deeper for sentences
Says = tuple[tuple[int, str], ...]
"""Of each column the number of its variable, and the category it stands for; "" where it is a number."""


@dataclass(frozen=True)
class Layout:
    """How the units that can be selected lie in one input row.

    `owner` names the unit of each column (tables) or of each pixel position (images; all channels of a pixel belong
    together). Texts have neither: their units are the positions of each row.
    """

    kind: Kind
    shape: tuple[int, ...] = ()  # of one row: (columns,) or (channels, height, width)
    owner: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    says: Says = field(default=(), compare=False, repr=False)

    @property
    def d(self) -> int:
        """Number of units of an array row."""
        if self.is_text:
            raise InputError("a text has as many units as it has words or sentences: ask valid(x), not d")
        return len(self.units)

    @property
    def is_text(self) -> bool:
        return self.kind in ("words", "sentences")

    @cached_property
    def _index(self) -> Tensor | None:  # none where the units are the columns or pixels themselves, all in place
        return None if self.owner == tuple(range(len(self.units))) else torch.tensor(self.owner, dtype=torch.long)

    def valid(self, x: Inputs) -> Tensor:
        """(n, d) bool: which units exist in each row; for texts d is the longest row's length."""
        if not self.is_text:
            return torch.ones(len(x), self.d, dtype=torch.bool)
        lengths = torch.tensor([len(row) for row in x])
        return torch.arange(int(lengths.max()) if len(x) else 0) < lengths[:, None]

    def spread(self, kept: Tensor) -> Tensor:
        """(n, d) over units -> (n, columns) or (n, 1, height, width) over the input."""
        wide = kept if self._index is None else kept[:, self._index.to(kept.device)]
        return wide if self.kind == "table" else wide.reshape(len(kept), 1, *self.shape[1:])

    def gather(self, values: Tensor) -> Tensor:
        """Values over the input, (n, *shape), summed to (n, d) over units."""
        flat = values if self.kind == "table" else values.sum(1).flatten(1)
        if self._index is None:
            return flat
        return flat.new_zeros(len(flat), self.d).index_add_(1, self._index.to(flat.device), flat)

    def told(self, values: list[float]) -> tuple[list[Any], list[int]]:
        """The values of a row as people read them, and the unit of each: of a variable's categories the name of one."""
        if not self.says:
            return list(values), list(self.owner)
        highest: dict[int, int] = {}  # variable -> its column, or that of its category
        for column, (variable, _) in enumerate(self.says):
            if variable not in highest or values[column] > values[highest[variable]]:
                highest[variable] = column
        found = [self.says[column][1] or values[column] for column in highest.values()]
        return found, [self.owner[column] for column in highest.values()]
