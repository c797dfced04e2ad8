"""Drawing train, validation and test rows, and putting splits together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unmask import seeds
from unmask.data.layouts import SENTENCES, WORDS
from unmask.types import Dataset, Frames, Layout, Split

__all__ = ["array_split", "by_sentence", "draw", "joined", "padded", "shares", "words_split"]


def shares(y: Tensor, seed: int, parts: Sequence[float] = (0.6, 0.2, 0.2)) -> list[Tensor]:
    """Disjoint positions, each class divided by `parts`; every later part gets at least one row of each class."""
    rng = seeds.generator(seeds.derive(seed, "shares"))
    pieces: list[list[Tensor]] = [[] for _ in parts]
    for label in sorted(set(y.tolist())):
        rows = (y == label).nonzero().flatten()
        rows = rows[torch.randperm(len(rows), generator=rng)]
        later = [max(1, round(share * len(rows))) for share in parts[1:]]
        for piece, chosen in zip(pieces, torch.split(rows, [len(rows) - sum(later), *later]), strict=True):
            piece.append(chosen)
    return [_shuffled(torch.cat(piece), rng) for piece in pieces]


def draw(y: Tensor, sizes: Sequence[int], seed: int) -> list[Tensor]:
    """Disjoint positions, exactly `sizes` of them, each with the classes in the shares they have in `y`."""
    rng = seeds.generator(seeds.derive(seed, "draw"))
    key = torch.empty(len(y), dtype=torch.float64)
    for label in sorted(set(y.tolist())):
        rows = (y == label).nonzero().flatten()
        rank = torch.randperm(len(rows), generator=rng) + torch.rand(len(rows), generator=rng, dtype=torch.float64)
        key[rows] = rank / len(rows)
    order = key.argsort()[: sum(sizes)]
    return [_shuffled(piece, rng) for piece in torch.split(order, list(sizes))]


def _shuffled(rows: Tensor, rng: torch.Generator) -> Tensor:
    return rows[torch.randperm(len(rows), generator=rng)]


def padded(rows: Sequence[Sequence[int | bool]], fill: int | bool = False) -> Tensor:
    """Rows of different lengths as one tensor (n, longest), `fill` beyond each end."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def joined(
    name: str,
    layout: Layout,
    classes: tuple[str, ...],
    parts: Sequence[Split],
    notes: Mapping[str, Any],
    frames: Frames | None = None,
) -> Dataset:
    """A Dataset of its train, validation and test rows, in this order."""
    train, validation, test = parts
    return Dataset(name, layout, classes, train, validation, test, notes, frames)


def array_split(x: Tensor, y: Tensor, layout: Layout, relevant: Tensor | None = None) -> Split:
    """Rows of an image or table set, every unit valid."""
    return Split(x, y, layout.valid(x), relevant)


def words_split(
    x: list[list[str]],
    y: Tensor,
    relevant: Sequence[Sequence[bool]] | None = None,
    sentence_of: Sequence[Sequence[int]] | None = None,
) -> Split:
    """Rows of words; `relevant_sentences` follows from the other two where both are known."""
    split = Split(x, y, WORDS.valid(x))
    if relevant is not None:
        split = replace(split, relevant=padded(relevant).bool())
    if sentence_of is not None:
        split = replace(split, sentence_of=padded(sentence_of, -1))
    if split.relevant is not None and split.sentence_of is not None:
        split = replace(split, relevant_sentences=_marked(split.relevant, split.sentence_of))
    return split


def _marked(relevant: Tensor, sentence_of: Tensor) -> Tensor:
    """(n, sentences): which sentences hold a relevant word."""
    hits = torch.zeros(len(relevant), int(sentence_of.max()) + 1)
    return hits.scatter_add_(1, sentence_of.clamp(min=0), relevant.float()) > 0


def by_sentence(split: Split) -> Split:
    """The same rows of words cut into their sentences, which become the units."""
    assert split.sentence_of is not None
    x = [_cut(words, owner) for words, owner in zip(split.x, split.sentence_of.tolist(), strict=True)]
    truth = split.relevant_sentences
    return Split(x, split.y, SENTENCES.valid(x), truth, truth)


def _cut(words: list[str], owner: list[int]) -> list[list[str]]:
    sentences: list[list[str]] = [[] for _ in range(max(owner[: len(words)]) + 1)]
    for word, place in zip(words, owner, strict=False):
        sentences[place].append(word)
    return sentences
