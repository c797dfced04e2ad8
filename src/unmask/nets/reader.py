"""What a network has to know of the data before it can be built: layout, scale of the values, vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unmask.nets.pieces import Pieces
from unmask.nets.vocabulary import Vocabulary
from unmask.types import Dataset, Inputs, Layout

__all__ = ["Reader", "read"]


@dataclass(frozen=True)
class Reader:
    """Turns rows into tensors; `centre` is the value a hidden unit takes inside networks, `scale` the spread."""

    layout: Layout
    centre: Tensor  # (*shape) of one row; empty for texts
    scale: Tensor
    vocabulary: Vocabulary | Pieces | None = None

    def prepare(self, x: Inputs) -> Tensor:
        """Rows as one tensor: floats as they are, words as ids (n, words), sentences as ids (n, sentences, words).

        Where the vocabulary is one of sub-words, each word has several ids: the last axis is theirs.
        """
        if self.vocabulary is None:
            return torch.as_tensor(x, dtype=torch.float32)
        if self.layout.kind == "words":
            return self.vocabulary.encode(x)
        most = max((len(row) for row in x), default=0)
        padded = [sentence for row in x for sentence in [*row, *[[]] * (most - len(row))]]
        ids = self.vocabulary.encode(padded)
        return ids.view(len(x), most, *ids.shape[1:])

    def valid(self, prepared: Tensor) -> Tensor:
        """(n, d) bool of prepared rows: which units exist."""
        if self.layout.is_text:
            there = prepared != 0
            return there if there.ndim == 2 else there.flatten(2).any(-1)
        return prepared.new_ones(len(prepared), self.layout.d, dtype=torch.bool)


def read(data: Dataset, removal: str | None = None, words: int = 20_000) -> Reader:
    """The reader of `data`, learned from its training split; with removal `zero`, hidden means 0, else the mean."""
    layout, x = data.layout, data.train.x
    if layout.is_text:
        texts = x if layout.kind == "words" else [sentence for row in x for sentence in row]
        return Reader(layout, torch.empty(0), torch.empty(0), Vocabulary.build(texts, words))
    mean = x.nanmean(0).nan_to_num()
    spread = torch.sqrt(((x - mean) ** 2).nanmean(0)).nan_to_num()
    if layout.kind == "image":  # one spread for all pixels: dead pixels must not be blown up
        spread = spread.square().mean().sqrt().expand_as(spread)
    scale = torch.where(spread > 1e-6, spread, torch.ones_like(spread))
    return Reader(layout, torch.zeros_like(mean) if removal == "zero" else mean, scale)
