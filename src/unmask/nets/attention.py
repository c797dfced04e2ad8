"""Classifiers of words that answer through one attention vector, and the ways of paying attention.

They keep the attention protocol: `attend(x) -> (weights, states)` and `answer(states, weights) -> logits`. What lies
beyond the end of a text gets exactly no weight.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.errors import InputError, unknown
from unmask.nets import pretrained
from unmask.nets.encoders import ENCODERS, encoder
from unmask.nets.pieces import pieced
from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END
from unmask.nets.words import WordEmbedding

__all__ = ["ATTENTIONS", "Additive", "AttentionNet", "ScaledDot", "Score", "Uniform", "attention_net", "masked_softmax"]

Score = Literal["additive", "scaled-dot", "uniform"]


def masked_softmax(scores: Tensor, valid: Tensor) -> Tensor:
    """Softmax over valid positions, exactly 0 elsewhere; all 0 where a row has none."""
    low = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~valid, low).softmax(-1)
    return weights * valid


class Additive(nn.Module):
    """tanh of a dense layer of the state (and of the query, where there is one), then one score (Bahdanau et al.)."""

    def __init__(self, width: int, query: int = 0) -> None:
        super().__init__()
        self.key = nn.Linear(width, max(1, width // 2))
        self.ask = nn.Linear(query, max(1, width // 2), bias=False) if query else None
        self.score = nn.Linear(max(1, width // 2), 1, bias=False)

    def forward(self, states: Tensor, valid: Tensor, query: Tensor | None = None) -> Tensor:
        hidden = self.key(states)
        if self.ask is not None:
            hidden = hidden + self.ask(query)[:, None]
        return masked_softmax(self.score(hidden.tanh())[..., 0], valid)


class ScaledDot(nn.Module):
    """Dot product of a projected state with a learned query, or with the one given, over the root of the width."""

    def __init__(self, width: int, query: int = 0) -> None:
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)
        self.ask = nn.Linear(query, width, bias=False) if query else None
        self.query = None if query else nn.Parameter(torch.randn(width) / width**0.5)

    def forward(self, states: Tensor, valid: Tensor, query: Tensor | None = None) -> Tensor:
        asked = self.query if self.ask is None else self.ask(query)[:, None]
        return masked_softmax((self.key(states) * asked).sum(-1) / states.shape[-1] ** 0.5, valid)


class Uniform(nn.Module):
    """The same weight for every word: stable, and says nothing. It has nothing to learn."""

    def __init__(self, width: int, query: int = 0) -> None:
        super().__init__()

    def forward(self, states: Tensor, valid: Tensor, query: Tensor | None = None) -> Tensor:
        return masked_softmax(torch.zeros_like(states[..., 0]), valid)


ATTENTIONS: dict[str, type[nn.Module]] = {"additive": Additive, "scaled-dot": ScaledDot, "uniform": Uniform}


class AttentionNet(nn.Module):
    """Vectors, encoder, attention over the states, a linear decoder of their weighted sum."""

    def __init__(
        self,
        reader: Reader,
        classes: int,
        kind: str = "bilstm",
        *,
        width: int = 100,
        hidden: int = 128,
        score: Score = "additive",
    ) -> None:
        super().__init__()
        whole = pretrained.tuned_layers(kind) is not None
        self.reader, self.kind = pieced(reader) if whole else reader, kind
        self.embedding: nn.Module
        self.encoder: nn.Module
        if whole:
            self.embedding, self.encoder = pretrained.pretrained(kind)
        else:
            self.embedding, self.encoder = WordEmbedding(reader, width), encoder(kind, width, hidden)
        self.attention = ATTENTIONS[score](self.encoder.width)
        self.decoder = nn.Linear(self.encoder.width, classes)  # type: ignore[arg-type]

    def attend(self, x: Tensor, kept: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Weights (n, words) and the states they weigh; hidden words are zero vectors that still have a place."""
        states = self.encoder(self.embedding(x, kept), x != END)
        return self.attention(states, self.reader.valid(x)), states

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        """Logits from the states under any weights."""
        return self.decoder((states * weights[..., None]).sum(1))  # type: ignore[no-any-return]

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        weights, states = self.attend(x, kept)
        return self.answer(states, weights)


def attention_net(
    reader: Reader,
    classes: int,
    kind: str = "bilstm",
    *,
    hidden: int = 128,
    score: Score = "additive",
    vectors: Tensor | None = None,
    seed: int = 0,
) -> AttentionNet:
    """An attention classifier of words, its weights drawn from `seed`; `vectors` (vocabulary, e) start its table.

    Names of encoders: pooling, rnn, gru, bilstm, rcnn, cnn, self-attention, and transformer, the pretrained one, which
    brings its vectors and its own way to read (`net.reader`). To freeze the vectors:
    `net.embedding.table.requires_grad_(False)`.
    """
    if kind not in ENCODERS and pretrained.tuned_layers(kind) is None:
        raise unknown("encoder", kind, [*ENCODERS, pretrained.NAME])
    if score not in ATTENTIONS:
        raise unknown("attention", score, ATTENTIONS)
    with seeds.seeded(seed):
        width = 100 if vectors is None else vectors.shape[1]
        net = AttentionNet(reader, classes, kind, width=width, hidden=hidden, score=score)
    if vectors is not None:
        if not isinstance(net.embedding, WordEmbedding):
            raise InputError(f"the encoder {kind} brings its own vectors; leave vectors out")
        net.embedding.set_vectors(vectors)
    return net
