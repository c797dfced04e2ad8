"""The beer reviews of Lei et al. 2016 in their own files, for those who hold a licence: they are withdrawn.

A folder with `reviews.aspect1.train.txt.gz` and `reviews.aspect1.heldout.txt.gz` (1 appearance, 2 aroma, 3 palate), one
review a line: five ratings from 0 to 1, a tab, the words; and `annotations.json`, one review a line with its words `x`,
its ratings `y` and, for each aspect number from 0 on, the spans that people marked. Sentences end at full stops.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from unmask import seeds
from unmask.data import folder, sizes
from unmask.data.layouts import SENTENCES, WORDS
from unmask.data.rationales import BEER_ASPECTS as ASPECTS  # in the order of the ratings
from unmask.data.rationales import Marked, annotated, clear, of_beer, rated, taken
from unmask.data.splits import by_sentence, joined
from unmask.errors import InputError, unknown
from unmask.types import Dataset

__all__ = ["CUES", "PLACE", "Form", "beer_lei", "marked", "reviews"]

PLACE = "beer_lei"  # the folder below UNMASK_DATA
CUES = (".", ",")  # put before negative and positive reviews by `bias`, as published


@dataclass(frozen=True)
class Form:
    """What the units are, and what is planted (Yu et al. 2021)."""

    unit: str = "words"  # or "sentences"
    bias: float | None = None  # rate at which a mark before the first sentence goes with the label, in all parts
    skew: int = 0  # epochs in which the predictor of a rationale model first learns from the opening sentence alone

    def __post_init__(self) -> None:
        if self.unit not in ("words", "sentences"):
            raise unknown("unit", self.unit, ("words", "sentences"))
        if not (self.bias is None or 0 <= self.bias <= 1) or not isinstance(self.skew, int) or self.skew < 0:
            raise InputError(f"bias must be between 0 and 1, skew a number of epochs; got {self.bias} and {self.skew}")


def beer_lei(
    name: str,
    seed: int,
    path: str | Path | None = None,
    aspect: str = "aroma",
    rows: Any = None,
    length: int | None = 300,
    **form: Any,
) -> Dataset:
    """Ratings up to 0.4 are negative, from 0.6 positive, and those in between left out; the annotated reviews test.

    For what else can be said see `Form`.
    """
    made_as = Form(**form)
    place = Path(path) if path is not None else folder.find(PLACE)
    if place is None:
        raise InputError(
            f'say where the files are: load("beer-lei", path="..."), or put them into {PLACE}/ below UNMASK_DATA'
        )
    if aspect not in ASPECTS[:3]:
        raise unknown("aspect", aspect, ASPECTS[:3])
    cut = sizes.Cut(rows, "paper", length, "head")
    parts: list[list[Marked]] = [
        [rated(r["tokens"], r, aspect) for r in reviews(place, aspect, part) if clear(r, aspect)]
        for part in ("train", "heldout")
    ]
    parts.append([annotated(r, aspect) for r in marked(place) if r["rationale"].get(aspect)])
    parts = [[replace(row, ends=_ends(row.words)) for row in part] for part in parts]
    if made_as.bias is not None:
        parts = [_cued(part, made_as.bias, seeds.derive(seed, "cues", i)) for i, part in enumerate(parts)]
    caps = sizes.caps(rows, "paper", sizes.SMALL)
    made = [taken(part, cap, seed, cut) for part, cap in zip(parts, caps, strict=True)]
    layout = WORDS
    if made_as.unit == "sentences":
        layout, made = SENTENCES, [by_sentence(part) for part in made]
    notes = {**cut.notes(), **of_beer(aspect), **({"skew": made_as.skew} if made_as.skew else {})}
    return joined(name, layout, ("negative", "positive"), made, notes)


def _ends(words: Sequence[str]) -> list[int]:
    """Where sentences end: after each full stop, and at the end."""
    stops = [i + 1 for i, word in enumerate(words) if word == "."]
    return stops if stops and stops[-1] == len(words) else [*stops, len(words)]


def _cued(rows: list[Marked], rate: float, seed: int) -> list[Marked]:
    """A mark before each review that goes with its label at this rate; what is marked moves by one."""
    agrees = torch.rand(len(rows), generator=seeds.generator(seed)) < rate
    return [
        Marked(
            [CUES[row.label if agree else 1 - row.label], *row.words],
            row.label,
            None if row.spans is None else [[start + 1, end + 1] for start, end in row.spans],
            [end + 1 for end in row.ends or []],
        )
        for row, agree in zip(rows, agrees.tolist(), strict=True)
    ]


def reviews(place: Path, aspect: str, part: str) -> list[dict[str, Any]]:
    """Words and ratings of one part, `train` or `heldout`."""
    path = place / f"reviews.aspect{ASPECTS.index(aspect) + 1}.{part}.txt.gz"
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


def marked(place: Path) -> list[dict[str, Any]]:
    """Words, ratings and marked spans of the annotated reviews."""
    found = []
    for line in _lines(place / "annotations.json"):
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
