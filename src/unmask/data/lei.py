"""The beer reviews of Lei et al. 2016 in their own files, for those who hold a licence: they are withdrawn.

A folder with `reviews.aspect1.train.txt.gz` and `reviews.aspect1.heldout.txt.gz` (1 appearance, 2 aroma, 3 palate), one
review a line: five ratings from 0 to 1, a tab, the words; and `annotations.json`, one review a line with its words `x`,
its ratings `y` and, for each aspect number from 0 on, the spans that people marked.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from unmask.data import sizes
from unmask.data.layouts import WORDS
from unmask.data.rationales import BEER_ASPECTS as ASPECTS  # in the order of the ratings
from unmask.data.rationales import Marked, annotated, clear, of_beer, rated, taken
from unmask.data.splits import joined
from unmask.errors import InputError, unknown
from unmask.types import Dataset

__all__ = ["beer_lei", "marked", "reviews"]


def beer_lei(
    name: str,
    seed: int,
    path: str | Path | None = None,
    aspect: str = "aroma",
    rows: Any = None,
    length: int | None = 300,
) -> Dataset:
    """Ratings up to 0.4 are negative, from 0.6 positive, and those in between left out; the annotated reviews test."""
    if path is None:
        raise InputError('say where the files are: load("beer-lei", path="...")')
    if aspect not in ASPECTS[:3]:
        raise unknown("aspect", aspect, ASPECTS[:3])
    place, cut = Path(path), sizes.Cut(rows, "paper", length, "head")
    parts: list[list[Marked]] = [
        [rated(r["tokens"], r, aspect) for r in reviews(place, aspect, part) if clear(r, aspect)]
        for part in ("train", "heldout")
    ]
    parts.append([annotated(r, aspect) for r in marked(place) if r["rationale"].get(aspect)])
    caps = sizes.caps(rows, "paper", sizes.SMALL)
    made = [taken(part, cap, seed, cut) for part, cap in zip(parts, caps, strict=True)]
    return joined(name, WORDS, ("negative", "positive"), made, cut.notes() | of_beer(aspect))


def reviews(folder: Path, aspect: str, part: str) -> list[dict[str, Any]]:
    """Words and ratings of one part, `train` or `heldout`."""
    path = folder / f"reviews.aspect{ASPECTS.index(aspect) + 1}.{part}.txt.gz"
    found = []
    for number, line in enumerate(_lines(path), 1):
        ratings, tab, text = line.partition("\t")
        try:
            scores = dict(zip(ASPECTS, map(float, ratings.split()), strict=True))
        except ValueError:
            scores = {}
        if not tab or not scores or not text.strip():
            raise InputError(f"line {number} of {path.name} must be five ratings, a tab and words, got {line[:60]!r}")
        found.append({"tokens": text.split(), "scores": scores})
    return found


def marked(folder: Path) -> list[dict[str, Any]]:
    """Words, ratings and marked spans of the annotated reviews."""
    found = []
    for line in _lines(folder / "annotations.json"):
        try:
            record = json.loads(line)
            scores = dict(zip(ASPECTS, record["y"], strict=False))
            spans = {aspect: record[str(i)] for i, aspect in enumerate(ASPECTS) if record.get(str(i))}
            found.append({"tokens": record["x"], "scores": scores, "rationale": spans})
        except (KeyError, TypeError, ValueError) as fault:
            raise InputError(
                f"annotations.json must hold objects with x and y, one a line, got {line[:60]!r}"
            ) from fault
    return found


def _lines(path: Path) -> list[str]:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if not path.exists() and not plain.exists():
        raise InputError(f"{path.parent} has no {path.name}; name the folder with the files of Lei et al. 2016")
    try:
        packed = path.suffix == ".gz" and path.exists()
        with gzip.open(path, "rt", encoding="utf-8") if packed else plain.open(encoding="utf-8") as stream:
            return [line.rstrip("\n") for line in stream if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise InputError(f"cannot read {path.name} ({fault}); unpack or fetch it again") from fault
