"""What models that explain themselves read with.

A body has `width`; `states(x) -> (n, d, width)`, one state for each unit, to choose by; and `read(x, kept) ->
(n, width)`, one vector of what is kept. What is not kept is dropped: the vector is that of a row without it. Only where
`kept` has slopes, which dropped words could not have, words are zero vectors instead, as published. `weighted(x,
weights)` is the vector of a row whose units count by weights that sum to 1: with all of it on one sentence, column or
patch, it is that of this unit alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import torch
from torch import Tensor, nn

from unmask.errors import InputError, unknown
from unmask.nets import pretrained
from unmask.nets.encoders import Recurrent
from unmask.nets.pieces import pieced
from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END
from unmask.nets.words import WordEmbedding, crop

__all__ = ["Body", "Nets", "PretrainedBody", "SentenceBody", "UnitBody", "WordBody", "body"]


@dataclass(frozen=True)
class Nets:
    """How a rationale model reads. `vectors` of words are random or GloVe's, 100 long, and learn on unless `frozen`.

    `hidden` is the width of a state; rows of words are read in windows of `window` words. In the end, scores are
    averaged over `smooth` neighbours, and a rationale is at most so many `spans`, runs of neighbours. The encoder
    "transformer" is the packaged MiniLM (extra hf), "transformer:tuned=3" with another number of upper layers that
    learn than two: it brings its vectors, its width and its windows of 256 sub-words, and reads texts only. With
    `places` who chooses knows where in the row a unit stands; with `sentences` half of a word's score is the mean of
    its sentence, which ends at a full stop or another mark of that kind.
    """

    encoder: str = "gru"
    hidden: int = 64
    vectors: Literal["random", "glove"] = "random"
    frozen: bool = False
    window: int = 80
    smooth: int = 1
    spans: int | None = None
    places: bool = False
    sentences: bool = False

    def __post_init__(self) -> None:
        if self.smooth < 1 or self.smooth % 2 == 0 or (self.spans is not None and self.spans < 1):
            raise InputError(f"smooth must be odd and at least 1, spans at least 1; got {self.smooth} and {self.spans}")
        if self.hidden < 2 or self.hidden % 2 or self.window < 1:
            raise InputError(
                f"hidden must be even and at least 2, window at least 1; got {self.hidden} and {self.window}"
            )
        if self.vectors not in ("random", "glove"):
            raise InputError(f"vectors must be random or glove, got {self.vectors!r}")
        if self.encoder != "gru" and not self.pretrained:
            raise unknown("encoder", self.encoder, ("gru", pretrained.NAME))
        if self.pretrained and self.vectors != "random":
            raise InputError(f"the encoder {self.encoder} brings its own vectors, got vectors={self.vectors!r}")

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is the transformer."""
        return pretrained.tuned_layers(self.encoder) is not None


WIDTH = 100  # of a word vector, as GloVe's
AT_ONCE = 2**15  # words that a transformer reads at once, at most


def _highest(states: Tensor, valid: Tensor) -> Tensor:
    """(n, words, h) -> (n, h), the maximum over valid positions; zero where there is none."""
    if states.shape[1] == 0:
        return states.new_zeros(len(states), states.shape[2])
    top = states.masked_fill(~valid[..., None], torch.finfo(states.dtype).min).amax(1)
    return top * valid.any(1, keepdim=True)


def _by_states(body: SentenceBody | WordBody | PretrainedBody, x: Tensor, weights: Tensor) -> Tensor:
    return (body.states(x) * weights[..., None]).sum(1)


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

    weighted = _by_states

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

    weighted = _by_states

    def states(self, x: Tensor) -> Tensor:
        short, _ = crop(x, None)
        states = self._windows(self.embedding(short), short != END)
        return nn.functional.pad(states, (0, 0, 0, x.shape[1] - short.shape[1]))

    def read(self, x: Tensor, kept: Tensor) -> Tensor:
        kept = kept * (x != END)
        if not kept.requires_grad:
            ids, weight = _gathered(x, kept)
            return _highest(self.encode(self.embedding(ids, weight), ids != END), ids != END)
        ids, shown = crop(x, kept)
        assert shown is not None
        return _highest(self._windows(self.embedding(ids, shown), ids != END), shown > 0)


def _gathered(x: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """The ids of the kept words in their order, as rows without the others, and how much of each is kept."""
    most = int((kept > 0).sum(1).max()) if kept.numel() else 0
    at = (kept > 0).to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :most]
    weight = kept.gather(1, at)
    ids = x.gather(1, at) if x.ndim == 2 else x.gather(1, at[..., None].expand(-1, -1, x.shape[2]))
    return ids.where((weight > 0).view(*weight.shape, *[1] * (x.ndim - 2)), END), weight


class PretrainedBody(nn.Module):
    """Words or sentences through the pretrained transformer, a row's vector being the mean of the states kept.

    A sentence is read on its own, its state the mean of its words'; a row of words in windows, each on its own. What is
    kept of a row of words is read as a text of its own; with slopes, words that are not kept are zero vectors.
    """

    def __init__(self, reader: Reader, nets: Nets) -> None:
        super().__init__()
        self.reader = pieced(reader)
        self.embedding, self.encode = pretrained.pretrained(nets.encoder)
        self.width = self.encode.width

    def _words(self, ids: Tensor, kept: Tensor | None = None) -> Tensor:
        """(n, words, width) states; so many rows at once as there is memory for, whatever their words are."""
        size = max(1, AT_ONCE // max(1, ids.shape[1]))
        parts = zip(ids.split(size), repeat(None) if kept is None else kept.split(size), strict=False)
        return torch.cat([self.encode(self.embedding(rows, part), rows != END) for rows, part in parts])

    def _sentences(self, x: Tensor, which: Tensor) -> Tensor:
        """States of the sentences asked for, zero for others, which are not looked at."""
        ids = _cropped(x[which])
        found = _mean(self._words(ids), (ids != END).any(-1).float())
        return found.new_zeros(*which.shape, self.width).masked_scatter(which[..., None], found)

    weighted = _by_states

    def states(self, x: Tensor) -> Tensor:
        if self.reader.layout.kind == "sentences":
            return self._sentences(x, self.reader.valid(x))
        short = _cropped(x)
        return nn.functional.pad(self._words(short), (0, 0, 0, x.shape[1] - short.shape[1]))

    def read(self, x: Tensor, kept: Tensor) -> Tensor:
        valid = self.reader.valid(x)
        weight = kept * valid
        if self.reader.layout.kind == "sentences":
            return _mean(self._sentences(x, valid if kept.requires_grad else weight > 0), weight)
        if not kept.requires_grad:
            x, weight = _gathered(x, weight)
            x = _cropped(x)
        return _mean(self._words(x, weight), (weight > 0).to(weight))


def _cropped(ids: Tensor) -> Tensor:
    """Without the words and sub-words that no row has."""
    used = (ids != END).any(0)
    words, pieces = (int(part.nonzero()[-1]) + 1 if bool(part.any()) else 0 for part in (used.any(1), used.any(0)))
    return ids[:, :words, :pieces]


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

    def weighted(self, x: Tensor, weights: Tensor) -> Tensor:
        return self.read(x, weights)  # not of states, which know the whole row


def _mean(states: Tensor, weight: Tensor) -> Tensor:
    if not weight.requires_grad:  # whatever stands in a unit that is left out, a missing value too, has no part in it
        states = states.masked_fill((weight == 0)[..., None], 0.0)
    return (states * weight[..., None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1.0)


Body = SentenceBody | WordBody | PretrainedBody | UnitBody


def body(reader: Reader, nets: Nets) -> Body:
    """The body for the reader's kind of rows; its weights are drawn from torch's own generator."""
    if nets.pretrained:
        return PretrainedBody(reader, nets)
    if reader.layout.kind == "words":
        return WordBody(reader, nets)
    return SentenceBody(reader, nets) if reader.layout.kind == "sentences" else UnitBody(reader, nets)
