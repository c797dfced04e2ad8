"""The network of the shortcut demonstration: four tokens that say nothing stand beside five words of a review.

"Why is Attention Not So Attentive?", Bai et al. 2021, section 3: the attention asks with the whole review, but weighs
only its first five words and four constants, the same for every review. What it puts on the constants can tell the
answer by *how much*, never by what they are.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.errors import InputError, unknown
from unmask.nets.attention import Additive, Uniform
from unmask.nets.encoders import RecurrentConvolution
from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END
from unmask.nets.words import WordEmbedding

__all__ = ["CONSTANTS", "WORDS", "ShortcutNet"]

CONSTANTS, WORDS = 4, 5
WIDTH = 128  # of hidden layers of what reads
ASKING = 512  # of those of what asks
SUMMARIES = {"mean": 1, "mean-max-min": 3}  # vectors in the summary of a review
States = tuple[Tensor, Tensor]  # values (n, 9, e), and which of them there are (n, 9)


class ShortcutNet(nn.Module):
    """Attention over four constants and the first five words; the word vectors and the constants never learn.

    `downstream` "pooling" reads the weighted sum of the values, "rcnn" a recurrent convolution over the values times
    their weights. Without `attention` all nine weigh the same. `query` says what the attention knows of the review.
    """

    constant: Tensor  # (4, e), spread like the word vectors

    def __init__(
        self,
        reader: Reader,
        classes: int,
        downstream: Literal["pooling", "rcnn"] = "pooling",
        attention: bool = True,
        *,
        vectors: Tensor,
        query: Literal["mean", "mean-max-min"] = "mean-max-min",
        seed: int = 0,
    ) -> None:
        super().__init__()
        if downstream not in DOWNSTREAM:
            raise unknown("downstream", downstream, DOWNSTREAM)
        if query not in SUMMARIES:
            raise unknown("query", query, SUMMARIES)
        if reader.vocabulary is None or len(vectors) != len(reader.vocabulary):
            raise InputError(f"vectors must have one row for each word of the vocabulary, got {len(vectors)} rows")
        self.reader, e = reader, vectors.shape[1]
        self.asked = SUMMARIES[query] * e if attention else 0
        with seeds.seeded(seed):
            self.embedding = WordEmbedding(reader, e)
            self.attention = Asking(e, self.asked) if attention else Uniform(e)
            self.downstream = DOWNSTREAM[downstream](e, classes, attention)
        self.embedding.set_vectors(vectors)
        self.embedding.table.requires_grad_(False)
        rng = seeds.generator(seeds.derive(seed, "constants"))
        self.register_buffer("constant", vectors.std() * torch.randn(CONSTANTS, e, generator=rng))

    def positions(self, x: Tensor) -> Tensor:
        """(n, 9) bool: which positions there are; a review of fewer than five words has fewer."""
        words = nn.functional.pad(x[:, :WORDS] != END, (0, max(0, WORDS - x.shape[1])))
        return nn.functional.pad(words, (CONSTANTS, 0), value=True)

    def attend(self, x: Tensor) -> tuple[Tensor, States]:
        """Weights (n, 9), the constants first, and the values they weigh."""
        valid, words = self.positions(x), self.embedding(x[:, :WORDS])
        words = nn.functional.pad(words, (0, 0, 0, WORDS - words.shape[1]))
        values = torch.cat([self.constant.expand(len(x), -1, -1), words], 1)
        review = self.summary(x) if self.asked else None
        return self.attention(values, valid, review), (values, valid)

    def answer(self, states: States, weights: Tensor) -> Tensor:
        """Logits from the values under any weights."""
        return self.downstream(*states, weights)  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)

    def constants(self, weights: Tensor) -> Tensor:
        """(n,) how much of the attention is on the constants; 4/9 where it is uniform."""
        return weights[:, :CONSTANTS].sum(1)

    def summary(self, x: Tensor) -> Tensor:
        """(n, e) or (n, 3 e) of all words of the reviews: their mean, or mean, maximum and minimum."""
        if 0 in x.shape:
            return self.constant.new_zeros(len(x), self.asked)
        table = self.embedding.table.weight
        mean = nn.functional.embedding_bag(x, table, mode="mean", padding_idx=END)
        if self.asked == mean.shape[1]:
            return mean
        words = table[torch.where(x == END, x[:, :1], x)]  # beyond the end the first word again: no new extremes
        return torch.cat([mean, words.amax(1), words.amin(1)], 1)


class Asking(nn.Module):
    """Additive attention whose query is made of the summary of the whole review, `asked` numbers."""

    def __init__(self, e: int, asked: int) -> None:
        super().__init__()
        self.ask = nn.Sequential(
            nn.BatchNorm1d(asked, affine=False),  # reviews differ little in their means
            nn.Linear(asked, ASKING),
            nn.ReLU(),
            nn.Linear(ASKING, WIDTH),
            nn.ReLU(),
        )
        self.weigh = Additive(e, WIDTH)

    def forward(self, values: Tensor, valid: Tensor, review: Tensor) -> Tensor:
        return self.weigh(values, valid, self.ask(review))  # type: ignore[no-any-return]


class PooledHead(nn.Module):
    """Classes from the weighted sum of the values."""

    def __init__(self, e: int, classes: int, attention: bool) -> None:
        super().__init__()
        self.head = nn.Linear(e, classes)

    def forward(self, values: Tensor, valid: Tensor, weights: Tensor) -> Tensor:
        return self.head((values * weights[..., None]).sum(1))  # type: ignore[no-any-return]


class RecurrentHead(nn.Module):
    """Classes from a recurrent convolution over the values times their weights, of which the maximum is taken.

    Without attention the values are read as they are.
    """

    def __init__(self, e: int, classes: int, attention: bool) -> None:
        super().__init__()
        self.attention = attention
        self.encoder = RecurrentConvolution(e, WIDTH)
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, values: Tensor, valid: Tensor, weights: Tensor) -> Tensor:
        share = weights if self.attention else weights * valid.sum(1, keepdim=True)
        states = self.encoder(values * share[..., None], valid)
        return self.head(states.masked_fill(~valid[..., None], -1.0).amax(1))  # type: ignore[no-any-return]


DOWNSTREAM: dict[str, type[nn.Module]] = {"pooling": PooledHead, "rcnn": RecurrentHead}
