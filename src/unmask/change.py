"""What became of a model that was trained on, for the report; no tensor in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Better", "Change"]

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Change:
    """One number of the model as it was and as it is now; `before` is None where it compares the two."""

    name: str
    before: float | None
    after: float
    better: Better
    told: str  # what it is, in a few words
