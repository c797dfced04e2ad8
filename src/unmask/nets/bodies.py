"""What models that explain themselves read with.

A body has `width`; `states(x) -> (n, d, width)`, one state for each unit, to choose by; and `read(x, kept) ->
(n, width)`, one vector of what is kept. What is not kept is dropped: the vector is that of a row without it. Only where
`kept` has slopes, which dropped words could not have, words are zero vectors instead, as published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.nets.encoders import Recurrent
from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END
from unmask.nets.words import WordEmbedding, crop

__all__ = ["Body", "Nets", "SentenceBody", "UnitBody", "WordBody", "body"]


@dataclass(frozen=True)
class Nets:
    """How a rationale model reads. `vectors` of words are random or GloVe's, 100 long, and learn on unless `frozen`.

    `hidden` is the width of a state; rows of words are read in windows of `window` words. In the end, scores are
    averaged over `smooth` neighbours, and a rationale is at most so many `spans`, runs of neighbours.
    """

    hidden: int = 64
    vectors: Literal["random", "glove"] = "random"
    frozen: bool = False
    window: int = 80
    smooth: int = 1
    spans: int | None = None

    def __post_init__(self) -> None:
        if self.smooth < 1 or self.smooth % 2 == 0 or (self.spans is not None and self.spans < 1):
            raise InputError(f"smooth must be odd and at least 1, spans at least 1; got {self.smooth} and {self.spans}")
        if self.hidden < 2 or self.hidden % 2 or self.window < 1:
            raise InputError(
                f"hidden must be even and at least 2, window at least 1; got {self.hidden} and {self.window}"
            )
        if self.vectors not in ("random", "glove"):
            raise InputError(f"vectors must be random or glove, got {self.vectors!r}")


WIDTH = 100  # of a word vector, as GloVe's


def _highest(states: Tensor, valid: Tensor) -> Tensor:
    """(n, words, h) -> (n, h), the maximum over valid positions; zero where there is none."""
    if states.shape[1] == 0:
        return states.new_zeros(len(states), states.shape[2])
    top = states.masked_fill(~valid[..., None], torch.finfo(states.dtype).min).amax(1)
    return top * valid.any(1, keepdim=True)


class SentenceBody(nn.Module):
    """Each sentence on its own through a bidirectional GRU, the maximum over its words; kept ones are averaged."""

    def __init__(self, reader: Reader, nets: Nets) -> None:
        super().__init__()
        self.width, self.reader = nets.hidden, reader
        self.embedding = WordEmbedding(reader, WIDTH)
        self.encode = Recurrent(WIDTH, nets.hidden, nn.GRU)

    def _states(self, x: Tensor, which: Tensor) -> Tensor:
        """States of the sentences asked for, zero for others, which are not looked at."""
        ids, _ = crop(x[which], None)
        valid = ids != END
        found = _highest(self.encode(self.embedding(ids), valid), valid)
        return found.new_zeros(*which.shape, self.width).masked_scatter(which[..., None], found)

    def states(self, x: Tensor) -> Tensor:
        return self._states(x, self.reader.valid(x))

    def read(self, x: Tensor, kept: Tensor) -> Tensor:
        weight = kept * self.reader.valid(x)
        states = self._states(x, self.reader.valid(x) if kept.requires_grad else weight > 0)
        return _mean(states, weight)


class WordBody(nn.Module):
    """Words through a bidirectional GRU, in windows, each on its own; what is kept is read as a text of its own.

    Where `kept` has slopes (straight-through draws, gates) words that are not kept are zero vectors instead, and only
    states of kept words count.
    """

    def __init__(self, reader: Reader, nets: Nets) -> None:
        super().__init__()
        self.width, self.reader, self.window = nets.hidden, reader, nets.window
        self.embedding = WordEmbedding(reader, WIDTH)
        self.encode = Recurrent(WIDTH, nets.hidden, nn.GRU)

    def _windows(self, vectors: Tensor, valid: Tensor) -> Tensor:
        n, words = valid.shape
        more = -words % self.window
        vectors, valid = (nn.functional.pad(t, pad) for t, pad in ((vectors, (0, 0, 0, more)), (valid, (0, more))))
        parts, real = vectors.reshape(-1, self.window, WIDTH), valid.reshape(-1, self.window)
        used = real.any(1)
        states = vectors.new_zeros(*real.shape, self.width)
        states[used] = self.encode(parts[used], real[used])
        return states.reshape(n, words + more, self.width)[:, :words]

    def states(self, x: Tensor) -> Tensor:
        short, _ = crop(x, None)
        states = self._windows(self.embedding(short), short != END)
        return nn.functional.pad(states, (0, 0, 0, x.shape[1] - short.shape[1]))

    def read(self, x: Tensor, kept: Tensor) -> Tensor:
        kept = kept * (x != END)
        if not kept.requires_grad:
            most = int((kept > 0).sum(1).max()) if kept.numel() else 0
            at = (kept > 0).to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :most]
            weight, ids = kept.gather(1, at), x.gather(1, at)
            ids = ids.where(weight > 0, END)
            return _highest(self.encode(self.embedding(ids, weight), ids != END), ids != END)
        ids, shown = crop(x, kept)
        assert shown is not None
        return _highest(self._windows(self.embedding(ids, shown), ids != END), shown > 0)


class UnitBody(nn.Module):
    """Columns, groups, pixels or patches, each embedded by its own weights; a state knows the mean of all of them."""

    def __init__(self, reader: Reader, nets: Nets) -> None:
        super().__init__()
        layout = reader.layout
        self.width, self.reader = nets.hidden, reader
        self.owner: Tensor
        self.centre: Tensor
        self.scale: Tensor
        owner = torch.tensor(layout.owner).repeat(1 if layout.kind == "table" else layout.shape[0])
        self.register_buffer("owner", owner, persistent=False)
        self.register_buffer("centre", reader.centre.flatten(), persistent=False)
        self.register_buffer("scale", reader.scale.flatten(), persistent=False)
        self.weight = nn.Parameter(torch.randn(len(owner), nets.hidden) / torch.bincount(owner)[owner, None] ** 0.5)
        self.bias = nn.Parameter(torch.randn(layout.d, nets.hidden) * 0.5)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(nets.hidden, nets.hidden), nn.ReLU())
        self.context = nn.Sequential(nn.Linear(2 * nets.hidden, nets.hidden), nn.ReLU())
        self.outer = nn.Sequential(nn.Linear(nets.hidden, nets.hidden), nn.ReLU())

    def _vectors(self, x: Tensor) -> Tensor:
        values = ((x.flatten(1) - self.centre) / self.scale).nan_to_num()
        found = values.new_zeros(len(x), len(self.bias), self.width)
        return self.inner(found.index_add(1, self.owner, values[..., None] * self.weight) + self.bias)  # type: ignore[no-any-return]

    def states(self, x: Tensor) -> Tensor:
        own = self._vectors(x)
        return self.context(torch.cat([own, own.mean(1, keepdim=True).expand_as(own)], -1))  # type: ignore[no-any-return]

    def read(self, x: Tensor, kept: Tensor) -> Tensor:
        return self.outer(_mean(self._vectors(x), kept))  # type: ignore[no-any-return]


def _mean(states: Tensor, weight: Tensor) -> Tensor:
    return (states * weight[..., None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1.0)


Body = SentenceBody | WordBody | UnitBody


def body(reader: Reader, nets: Nets) -> Body:
    """The body for the reader's kind of rows; its weights are drawn from torch's own generator."""
    if reader.layout.kind == "words":
        return WordBody(reader, nets)
    return SentenceBody(reader, nets) if reader.layout.kind == "sentences" else UnitBody(reader, nets)
