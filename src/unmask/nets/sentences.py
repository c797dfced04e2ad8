"""Networks for sentences: each is read on its own by a small word CNN, so a hidden sentence tells nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END
from unmask.nets.words import SetHead, WordEmbedding, answer_branch, convolve, place_features, pool_max

__all__ = ["SentenceNet", "SentenceSelector", "SentenceSet"]


class _SentenceReader(nn.Module):
    """Ids (n, sentences, words) -> one vector a sentence, (n, sentences, filters)."""

    def __init__(self, reader: Reader, width: int, filters: int) -> None:
        super().__init__()
        self.embedding = WordEmbedding(reader, width)
        self.drop = nn.Dropout(0.2)
        self.conv = nn.Conv1d(width, filters, 3, padding=1)

    def forward(self, ids: Tensor) -> Tensor:
        words = ids.flatten(0, 1)
        valid = words != END
        features = convolve(self.conv, self.drop(self.embedding(words)) * valid[..., None])
        return pool_max(features, valid).view(*ids.shape[:2], self.conv.out_channels)


def _exists(ids: Tensor) -> Tensor:
    return (ids != END).any(-1)


class SentenceNet(nn.Module):
    """L2X's approximator for sentences: the mean of the kept sentences' vectors, dense, classes."""

    def __init__(
        self, reader: Reader, classes: int, width: int = 50, filters: int = 100, *, sees_mask: bool = False
    ) -> None:
        super().__init__()
        self.reader = reader
        self.read = _SentenceReader(reader, width, filters)
        self.hidden = nn.Parameter(torch.zeros(filters)) if sees_mask else None
        self.head = nn.Sequential(nn.Linear(filters, filters), nn.ReLU(), nn.Dropout(0.2), nn.Linear(filters, classes))

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        exists = _exists(x).float()
        weight = exists if kept is None else exists * kept
        total = (self.read(x) * weight[..., None]).sum(1)
        if self.hidden is not None:
            total = total + self.hidden * (exists - weight).sum(1, keepdim=True)
        return self.head(total / weight.sum(1, keepdim=True).clamp(min=1.0))  # type: ignore[no-any-return]


class SentenceSet(nn.Module):
    """The sentences shown as a set of (sentence, place) pairs: it can tell which sentence of the text was kept."""

    def __init__(self, reader: Reader, classes: int, width: int = 50, filters: int = 50) -> None:
        super().__init__()
        self.reader = reader
        self.read = _SentenceReader(reader, width, filters)
        self.head = SetHead(filters, classes, 100)

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        exists = _exists(x)
        weight = exists.float() if kept is None else exists * kept.float()
        at = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        return self.head(self.read(x), place_features(at, exists.sum(1, keepdim=True)), weight)  # type: ignore[no-any-return]


class SentenceSelector(nn.Module):
    """Scores for sentences: a branch over all of them beside the neighbours, and the model's answer with `feedback`."""

    def __init__(
        self, reader: Reader, width: int = 50, filters: int = 100, feedback: int = 0, outputs: int = 1
    ) -> None:
        super().__init__()
        self.reader, self.outputs = reader, outputs
        self.read = _SentenceReader(reader, width, filters)
        self.overall = nn.Sequential(nn.Linear(filters, filters), nn.ReLU())
        self.local = nn.Conv1d(filters + 1, filters // 2, 3, padding=1)
        wide = (2 if feedback else 1) * filters + filters // 2
        self.score = nn.Sequential(nn.Linear(wide, filters // 2), nn.ReLU(), nn.Linear(filters // 2, outputs))
        self.answer = answer_branch(feedback, filters) if feedback else None

    def forward(self, x: Tensor, kept: Tensor | None = None, answer: Tensor | None = None) -> Tensor:
        exists = _exists(x)
        shown = exists.float() if kept is None else exists * kept
        h = self.read(x) * shown[..., None]
        overall = self.overall(pool_max(h, exists))
        if self.answer is not None:
            overall = torch.cat([overall, self.answer(answer)], -1)
        local = convolve(self.local, torch.cat([h, shown[..., None]], -1))
        found: Tensor = self.score(torch.cat([overall[:, None].expand(-1, h.shape[1], -1), local], -1))
        return found[..., 0] if self.outputs == 1 else found
