"""How much of a real set is taken: the options `rows` and `scale`, and `length` and `truncate` of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from unmask.data import splits
from unmask.errors import InputError, unknown

__all__ = ["IMAGES", "REVIEWS", "SMALL", "Caps", "Cut", "caps", "clip", "held_out", "some"]

Caps = tuple[int | None, int | None, int | None]  # train, validation, test; None takes all there are

SMALL: Caps = (None, None, None)
IMAGES: Caps = (4000, 1000, 2000)
REVIEWS: Caps = (8000, 2000, 4000)
QUICK: Caps = (1000, 250, 500)
VALIDATION = 0.2  # of the training rows, where a set has no validation rows of its own


@dataclass(frozen=True)
class Cut:
    """Which texts, and which words of each, are taken; `truncate` keeps the "head" or the "tail" of a long text."""

    rows: Any = None  # (train, validation, test)
    scale: str = "default"  # or "quick", "paper"
    length: int | None = 400  # None keeps whole texts
    truncate: str = "head"

    def __post_init__(self) -> None:
        if self.truncate not in ("head", "tail"):
            raise unknown("truncate", str(self.truncate), ("head", "tail"))
        if self.length is not None and self.length < 1:
            raise InputError(f"length must be at least 1 word, or None for whole texts, got {self.length}")

    def notes(self) -> dict[str, Any]:
        return {"length": self.length, "truncate": self.truncate, "scale": self.scale}


def clip(row: Sequence[Any], cut: Cut) -> list[Any]:
    """The part of one text's words (or of what goes with them) that `cut` keeps."""
    if cut.length is None or len(row) <= cut.length:
        return list(row)
    return list(row[: cut.length] if cut.truncate == "head" else row[-cut.length :])


def caps(rows: Sequence[int | None] | str | None, scale: str, usual: Caps) -> Caps:
    """The limits that `rows` names (a triple, or "400/100/200"), else those of `scale`."""
    scales = {"default": usual, "paper": SMALL, "quick": QUICK}
    if scale not in scales:
        raise unknown("scale", str(scale), scales)
    if rows is None:
        return scales[scale]
    given = rows.split("/") if isinstance(rows, str) else list(rows) if isinstance(rows, Sequence) else [rows]
    if len(given) != 3 or not all(part is None or (str(part).isdigit() and int(part) > 0) for part in given):
        raise InputError(f"rows must be three counts (train, validation, test), each at least 1, got {rows!r}")
    train, validation, test = (None if part is None else int(part) for part in given)
    return train, validation, test


def some(y: Tensor, cap: int | None, seed: int) -> Tensor:
    """Positions of at most `cap` rows, classes in their shares."""
    return splits.draw(y, (min(cap or len(y), len(y)),), seed)[0]


def held_out(y: Tensor, train: int | None, validation: int | None, seed: int) -> tuple[Tensor, Tensor]:
    """Positions of training and of validation rows where both come from the same file.

    Where it has fewer rows than asked for, both get less in the same ratio.
    """
    n = len(y)
    kept = validation or round(VALIDATION * n)
    if train is None:
        kept = min(kept, n // 2)
    elif train + kept > n:
        kept = round(n * kept / (train + kept))
    first, second = splits.draw(y, (min(train or n, n - kept), kept), seed)
    return first, second
