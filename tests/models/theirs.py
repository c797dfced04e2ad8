"""An attention classifier as somebody else would write it: no attend, no answer, weights of any shape inside."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SHAPES = {
    "(n, d)": lambda w: w,
    "(n, d, 1)": lambda w: w[..., None],
    "(n, 1, d)": lambda w: w[:, None],
}


class Weights(nn.Module):
    """Softmax of one score for each vector; the end of a text (all zeros) gets no weight."""

    def __init__(self, width: int, shape: str) -> None:
        super().__init__()
        self.shape, self.score = shape, nn.Linear(width, 1, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        scores = self.score(h)[..., 0].masked_fill((h == 0).all(-1), -1e9)
        return SHAPES[self.shape](scores.softmax(1))


class Theirs(nn.Module):
    """Ids (n, d) -> logits; `words.look` gives out the weights, and id 0 is the end of a text."""

    def __init__(self, words: int = 12, width: int = 4, classes: int = 3, shape: str = "(n, d)") -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, width, padding_idx=0)
        self.words = nn.ModuleDict({"look": Weights(width, shape)})
        self.head = nn.Linear(width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.vectors(ids)
        w = self.words["look"](h).flatten(1)
        return self.head((h * w[..., None]).sum(1))


def theirs(shape: str = "(n, d)", classes: int = 3) -> Theirs:
    torch.manual_seed(0)
    return Theirs(classes=classes, shape=shape)
