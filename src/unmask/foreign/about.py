"""What scores made elsewhere should be about, and where the letters of a text belong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from unmask.errors import InputError
from unmask.models import Wrapped
from unmask.types import Dataset, Split

__all__ = ["About", "letters", "owners"]


@dataclass(frozen=True)
class About:
    """What the scores should be about: the rows of a split, and the model's answers to them."""

    name: str
    data: Dataset
    split: Split
    part: str
    model: Wrapped
    said: Tensor  # (n, classes)

    @property
    def target(self) -> Tensor:
        return self.said.argmax(1)

    @property
    def column(self) -> Tensor:
        """(n,) the predicted class as the model itself counts: what others made knows no other order."""
        return self.model.column(self.target)

    @property
    def classes(self) -> int:
        return len(self.data.classes)

    def check_rows(self, n: int) -> None:
        if n != len(self.split):
            raise InputError(
                f"the scores {self.name!r} are for {n} rows, but {self.part} of {self.data.name} has "
                f"{len(self.split)}; explain data.{self.part}.x, all of it and in its order"
            )


def letters(about: About, i: int, raw: str) -> list[int]:
    """The unit of each letter of a text; the letters, blanks left out, must be those of the row."""
    row = about.split.x[i]
    spelled = [(u, word) for u, unit in enumerate(row) for word in ([unit] if isinstance(unit, str) else unit)]
    ours, theirs = ("".join("".join(text).split()).lower() for text in ([w for _, w in spelled], raw))
    if ours != theirs:
        raise InputError(
            f"row {i} of {about.name!r} explains another text, {raw[:40]!r}, than row {i} of {about.part}; explain its "
            "words joined by blanks"
        )
    return [u for u, word in spelled for letter in word if not letter.isspace()]


def owners(about: About, i: int, pieces: list[str]) -> list[int | None]:
    """The unit that each piece of a text begins in; a piece without letters, such as a special token, has none."""
    owner = letters(about, i, "".join(pieces))
    bare = ["".join(piece.split()) for piece in pieces]
    starts = np.cumsum([0, *map(len, bare)]).tolist()
    return [owner[start] if piece else None for start, piece in zip(starts, bare, strict=False)]
