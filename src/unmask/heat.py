"""Where a model looks in one row, for the report; no tensor in sight."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Heat"]

NAMED = 3  # words that the map in words names


@dataclass(frozen=True)
class Heat:
    """Weights of the words of one row: as they are, then under noise on the word vectors, a line for each draw."""

    explanation: str
    label: str
    words: tuple[str, ...]
    lines: tuple[tuple[str, tuple[float, ...]], ...]  # (name, weight of each word), the first without noise
    note: str = ""

    @property
    def told(self) -> str:
        """The map in words, for those who cannot see it: the heaviest words, and between what noise moves them."""
        if not self.words or not self.lines:
            return "attention over no words"
        (name, first), *others = self.lines
        best = sorted(range(len(self.words)), key=lambda i: -first[i])[:NAMED]
        moved = [[weights[i] for _, weights in others] for i in best]
        spans = [f" ({min(span):.2f} to {max(span):.2f})" if span else "" for span in moved]
        named = ", ".join(f"{self.words[i]} {first[i]:.2f}{span}" for i, span in zip(best, spans, strict=True))
        return f"attention over {len(self.words)} words, {name} and in {len(others)} draws of noise; heaviest: {named}"
