"""GloVe word vectors from the folder of data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unmask import seeds
from unmask.data import folder
from unmask.nets.vocabulary import Vocabulary

__all__ = ["glove", "known", "nearest"]

WHERE = "glove"
SPREAD = 0.05  # of the vectors drawn for words that GloVe does not know


def glove(vocabulary: Vocabulary, seed: int = 0) -> Tensor:
    """(words, 100) a vector for each id of the vocabulary; small random ones for words without (see `known`)."""
    rows, table = _rows(tuple(vocabulary.words)), _table(_folder())
    first = len(vocabulary) - len(vocabulary.words)
    found = torch.empty(len(vocabulary), table.shape[1])
    found.uniform_(-SPREAD, SPREAD, generator=seeds.generator(seeds.derive(seed, "unknown words")))
    has = rows >= 0
    found[first:][has] = table[rows[has]]
    return found


def known(words: Sequence[str]) -> Tensor:
    """(n,) bool: which words have a vector; letters may be of either case."""
    return _rows(tuple(words)) >= 0


def nearest(vectors: Tensor, among: Tensor, allowed: Tensor | None = None, batch: int = 1024) -> Tensor:
    """For each row of `vectors` the number of the row of `among` with the highest cosine, itself left out.

    A row of `among` that is equal to the vector counts as itself. Of those `allowed`, (vectors, among), where given;
    -1 where there is none.
    """
    pool = torch.nn.functional.normalize(among, dim=1)
    parts = torch.nn.functional.normalize(vectors, dim=1).split(batch)
    barred = [None] * len(parts) if allowed is None else (~allowed).split(batch)
    found = [torch.empty(0, dtype=torch.long, device=vectors.device)]
    for part, never in zip(parts, barred, strict=True):
        cosine = part @ pool.T
        cosine[cosine > 1 - 1e-5] = -2.0
        if never is not None:
            cosine[never] = -2.0
        best, at = cosine.max(1)
        found.append(at.where(best > -2.0, -1))
    return torch.cat(found)


def _folder() -> Path:
    path = folder.find(WHERE)
    if path is None:
        raise folder.missing("GloVe", WHERE, "")
    return path


@lru_cache(maxsize=1)
def _index(path: Path) -> dict[str, int]:
    lines = (path / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return {word: i for i, word in enumerate(lines)}


@lru_cache(maxsize=1)
def _table(path: Path) -> Tensor:
    with np.load(path / "glove_6b_100d_f16.npz") as stored:
        return torch.from_numpy(stored["vectors"].astype(np.float32))


def _rows(words: tuple[str, ...]) -> Tensor:
    index = _index(_folder())
    return torch.tensor([index.get(word.lower(), -1) for word in words], dtype=torch.long)
