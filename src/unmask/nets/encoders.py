"""Encoders of word vectors: (n, words, e) -> states (n, words, width), one state for each word.

A word's state never depends on what stands beyond the end of its own text, so rows can be batched as one likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unmask import devices
from unmask.nets.words import convolve

__all__ = ["ENCODERS", "Convolutions", "Pooling", "Recurrent", "RecurrentConvolution", "SelfAttention", "encoder"]

WINDOWS = (1, 3, 5, 7)  # words that the convolutions of an encoder see


class Pooling(nn.Module):
    """No context: each vector projected on its own; with width 0 the vectors themselves."""

    def __init__(self, e: int, width: int) -> None:
        super().__init__()
        self.width = width or e
        self.project = nn.Sequential(nn.Linear(e, width), nn.Tanh()) if width else nn.Identity()

    def forward(self, vectors: Tensor, valid: Tensor) -> Tensor:
        return self.project(vectors) * valid[..., None]  # type: ignore[no-any-return]


class Recurrent(nn.Module):
    """A recurrent layer; `width` is that of a state, both directions together where there are two (so it is even)."""

    def __init__(self, e: int, width: int, cell: Callable[..., nn.Module] = nn.LSTM, both: bool = True) -> None:
        super().__init__()
        self.width = width // 2 * 2 if both else width
        self.cell = cell(e, width // 2 if both else width, batch_first=True, bidirectional=both)

    def forward(self, vectors: Tensor, valid: Tensor) -> Tensor:
        if 0 in vectors.shape[:2]:
            return vectors.new_zeros(*vectors.shape[:2], self.width)
        lengths = valid.sum(1).clamp(min=1).cpu()  # an empty text runs over one zero vector, and is blanked below
        packed = pack_padded_sequence(vectors.float(), lengths, batch_first=True, enforce_sorted=False)
        with devices.exact():  # in mixed precision cards run these in float16, which needs its losses scaled
            states, _ = pad_packed_sequence(self.cell(packed)[0], batch_first=True, total_length=vectors.shape[1])
        return states * valid[..., None]


class RecurrentConvolution(nn.Module):
    """RCNN of Lai et al. 2015: left context, word and right context of each position, dense, tanh."""

    def __init__(self, e: int, width: int) -> None:
        super().__init__()
        self.width, self.context = width, Recurrent(e, width, nn.RNN)
        self.mix = nn.Sequential(nn.Linear(self.context.width + e, width), nn.Tanh())

    def forward(self, vectors: Tensor, valid: Tensor) -> Tensor:
        states = self.context(vectors, valid)
        left, right = states.chunk(2, -1)  # each holds the word itself; the contexts are those of its neighbours
        before = nn.functional.pad(left, (0, 0, 1, 0))[:, : left.shape[1]]
        after = nn.functional.pad(right, (0, 0, 0, 1))[:, 1:]
        return self.mix(torch.cat([before, vectors, after], -1)) * valid[..., None]  # type: ignore[no-any-return]


class Convolutions(nn.Module):
    """Convolutions over one, three, five and seven words, side by side."""

    def __init__(self, e: int, width: int) -> None:
        super().__init__()
        share = width // len(WINDOWS)
        sizes = [share] * (len(WINDOWS) - 1) + [width - share * (len(WINDOWS) - 1)]
        self.width = width
        self.layers = nn.ModuleList(nn.Conv1d(e, f, w, padding=w // 2) for f, w in zip(sizes, WINDOWS, strict=True))

    def forward(self, vectors: Tensor, valid: Tensor) -> Tensor:
        shown = vectors * valid[..., None]
        found = [convolve(layer, shown) for layer in self.layers]  # type: ignore[arg-type]
        return torch.cat(found, -1) * valid[..., None]


class SelfAttention(nn.Module):
    """Two layers of self-attention among the words of a text, their places told by waves; learned from nothing.

    A width that cannot be divided by the number of heads has fewer.
    """

    def __init__(self, e: int, width: int, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.width = width
        self.project = nn.Linear(e, width)
        layer = nn.TransformerEncoderLayer(width, math.gcd(heads, width), 2 * width, 0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, vectors: Tensor, valid: Tensor) -> Tensor:
        if 0 in vectors.shape[:2]:
            return vectors.new_zeros(*vectors.shape[:2], self.width)
        seen = valid.clone()
        seen[:, 0] = True  # an empty text looks at one zero vector, and is blanked below
        states = self.layers(self.project(vectors) + _waves(vectors.shape[1], self.width).to(vectors), None, ~seen)
        return states * valid[..., None]  # type: ignore[no-any-return]


def _waves(words: int, width: int) -> Tensor:
    """(words, width) sines and cosines of the place, from short waves to long ones (Vaswani et al. 2017)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-torch.log(torch.tensor(10_000.0)) / width))
    angle = torch.arange(words)[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


ENCODERS: dict[str, Callable[[int, int], nn.Module]] = {
    "pooling": Pooling,
    "rnn": lambda e, width: Recurrent(e, width, nn.RNN, both=False),
    "gru": lambda e, width: Recurrent(e, width, nn.GRU, both=False),
    "bilstm": lambda e, width: Recurrent(e, width, nn.LSTM),
    "rcnn": RecurrentConvolution,
    "cnn": Convolutions,
    "self-attention": SelfAttention,
}
"""Encoders by name, `ENCODERS[name](e, width)`; a pretrained one is in `pretrained`."""


def encoder(name: str, e: int, width: int) -> nn.Module:
    """An encoder by name; its attribute `width` is that of its states."""
    return ENCODERS[name](e, width)
