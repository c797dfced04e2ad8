"""Real text sets in which people marked the words that decide."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from unmask.data import DATASETS, folder, sizes
from unmask.data.layouts import WORDS
from unmask.data.splits import joined, words_split
from unmask.data.tokens import tokenize
from unmask.errors import unknown
from unmask.types import Dataset, Split

__all__ = [
    "BEER_ASPECTS",
    "Marked",
    "annotated",
    "beer",
    "clear",
    "eraser_movies",
    "of_beer",
    "rated",
    "taken",
]

MOVIES = {"train": 1600, "dev": 200, "test": 199}
ANNOTATIONS = {
    "exhaustive": "test: every one marked; train, validation: some",
    "original": "test: marked before ERASER marked every one; train, validation: some",
}
BEER = {"reviews_unannotated": 2472, "annotations": 994}
BEER_ASPECTS = ("appearance", "aroma", "palate", "taste", "overall")
HIGH, LOW = 0.6, 0.4  # ratings from HIGH on are positive, up to LOW negative


@dataclass(frozen=True)
class Marked:
    """One text, the spans people marked in it, and where its sentences end, if known."""

    words: list[str]
    label: int
    spans: list[list[int]] | None = None  # [start, end) in words
    ends: list[int] | None = None


def eraser_movies(
    name: str,
    seed: int,
    annotation: str = "exhaustive",
    rows: Any = None,
    scale: str = "default",
    length: int | None = None,
    truncate: str = "head",
) -> Dataset:
    """Movie reviews with rationales, whole by default, as they conclude at the end.

    `annotation` of the test split: "exhaustive", ERASER's, of every rationale; or "original", the one that it replaced.
    Both mark about 30% of the words, and share some 57% of what they mark; the other splits have 9% and 7% marked.
    """
    if annotation not in ANNOTATIONS:
        raise unknown("annotation", str(annotation), ANNOTATIONS)
    cut = sizes.Cut(rows, scale, length, truncate)
    place = _place(name)
    parts = [[_movie(r, annotation) for r in _records(name, place, part, count)] for part, count in MOVIES.items()]
    caps = sizes.caps(cut.rows, cut.scale, sizes.SMALL)
    made = [taken(part, cap, seed, cut) for part, cap in zip(parts, caps, strict=True)]
    notes = cut.notes() | {"source": "eraser_movies", "rationales": ANNOTATIONS[annotation]}
    return joined(name, WORDS, ("negative", "positive"), made, notes)


def beer(
    name: str,
    seed: int,
    aspect: str = "aroma",
    rows: Any = None,
    scale: str = "default",
    length: int | None = 400,
    truncate: str = "head",
) -> Dataset:
    """Beer reviews by the rating of one aspect: up to 0.4 negative, from 0.6 positive.

    Training and validation reviews in between are left out. The test reviews are those with a rationale for the
    aspect, whatever their rating; those below 0.6 count as negative.
    """
    if aspect not in BEER_ASPECTS:
        raise unknown("aspect", str(aspect), BEER_ASPECTS)
    cut = sizes.Cut(rows, scale, length, truncate)
    place = _place(name)
    plain, marked = (_records(name, place, part, count) for part, count in BEER.items())
    told = [rated(tokenize(r["text"]), r, aspect) for r in plain if clear(r, aspect)]
    tested = [annotated(r, aspect) for r in marked if r["rationale"].get(aspect)]
    train, validation, test = sizes.caps(cut.rows, cut.scale, sizes.SMALL)
    y = torch.tensor([row.label for row in told])
    held = [[told[i] for i in index.tolist()] for index in sizes.held_out(y, train, validation, seed)]
    made = [*(taken(part, None, seed, cut) for part in held), taken(tested, test, seed, cut)]
    return joined(name, WORDS, ("negative", "positive"), made, cut.notes() | of_beer(aspect))


def of_beer(aspect: str) -> dict[str, Any]:
    """What notes say of beer reviews."""
    return {"source": "beer", "aspect": aspect, "thresholds": {"negative": LOW, "positive": HIGH}}


def _place(name: str) -> Path:
    source = DATASETS[name]
    place = folder.find(source.where)
    if place is None:
        raise folder.missing(name, source.where, source.hub)
    return place


def _records(name: str, place: Path, part: str, expected: int) -> list[dict[str, Any]]:
    records = folder.read_jsonl(place / f"{part}.jsonl.gz")
    folder.check_rows(name, part, len(records), expected)
    return records


def _movie(record: dict[str, Any], annotation: str) -> Marked:
    spans = record["rationale"]
    if annotation == "original":  # only test records have two
        spans = record.get("rationale_original", spans)
    return Marked(record["tokens"], record["label"], spans, record["sentence_ends"])


def clear(record: dict[str, Any], aspect: str) -> bool:
    """Whether the rating is high or low."""
    return not LOW < record["scores"][aspect] < HIGH


def rated(words: list[str], record: dict[str, Any], aspect: str) -> Marked:
    """A review with its class."""
    return Marked(words, int(record["scores"][aspect] >= HIGH))


def annotated(record: dict[str, Any], aspect: str) -> Marked:
    """A review with its class and what people marked."""
    return Marked(record["tokens"], int(record["scores"][aspect] >= HIGH), record["rationale"][aspect])


def taken(rows: list[Marked], cap: int | None, seed: int, cut: sizes.Cut) -> Split:
    """At most `cap` of the rows, cut to their length."""
    y = torch.tensor([row.label for row in rows])
    index = sizes.some(y, cap, seed)
    chosen = [rows[i] for i in index.tolist()]
    x = [sizes.clip(row.words, cut) for row in chosen]
    relevant = owner = None
    if all(row.spans is not None for row in rows):
        relevant = [sizes.clip(_relevant(row), cut) for row in chosen]
    if all(row.ends is not None for row in rows):
        owner = [_from_zero(sizes.clip(_owner(row), cut)) for row in chosen]
    return words_split(x, y[index], relevant, owner)


def _from_zero(owner: list[int]) -> list[int]:
    return [place - owner[0] for place in owner]


def _relevant(row: Marked) -> list[bool]:
    marked = [False] * len(row.words)
    for start, end in row.spans or []:
        marked[start:end] = [True] * (end - start)
    return marked


def _owner(row: Marked) -> list[int]:
    """The sentence of each word."""
    owner: list[int] = []
    for place, end in enumerate(row.ends or []):
        owner += [place] * (end - len(owner))
    return owner
