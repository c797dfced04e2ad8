"""Words to numbers; the only place where ids exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from unmask.masking.removals import MASK, PAD

__all__ = ["END", "HIDDEN", "Vocabulary"]

END = 0  # beyond the end of the text: no unit
HIDDEN = 1  # a word removed by padding: still a position, a zero vector
SPECIAL = ("", PAD, MASK, "<unknown>")


@dataclass(frozen=True)
class Vocabulary:
    """Ids by frequency in the training texts: 0 beyond the end, 1 hidden, 2 mask, 3 unknown, words from 4 on."""

    words: tuple[str, ...]

    @classmethod
    def build(cls, texts: Iterable[Sequence[str]], size: int = 20_000) -> Vocabulary:
        """The `size` most frequent words, equal counts in alphabetical order: the same texts give the same ids."""
        counted = Counter(word for text in texts for word in text)
        ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return cls(tuple(word for word, _ in ranked[:size] if word not in SPECIAL))

    def __len__(self) -> int:
        return len(SPECIAL) + len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(SPECIAL + self.words) if word}

    def encode(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """(n, longest) ids; a row's ids do not depend on the other rows, only its padding does."""
        longest = max((len(text) for text in texts), default=0)
        ids, unknown = self.ids, SPECIAL.index("<unknown>")
        rows = [[ids.get(word, unknown) for word in text] + [END] * (longest - len(text)) for text in texts]
        return torch.tensor(rows, dtype=torch.long).view(len(texts), longest)
