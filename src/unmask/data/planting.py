"""Data with a known cheat in it, to see which explanations show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unmask import seeds
from unmask.data.frames import Column, FrameCodec
from unmask.data.splits import joined, padded
from unmask.errors import InputError, unknown
from unmask.types import Dataset, Layout, Split

__all__ = ["decided", "plant", "planted"]

PARTS = ("train", "validation", "test")
Cue = str | tuple[int, int] | Mapping[str, Any]


def plant(data: Dataset, cue: Cue, rate: float, seed: int = 0, label: str | None = None) -> Dataset:
    """The same data where a `rate` of each class's rows carries that class's cue, and no other row carries any.

    What a cue is: a word (words), a sentence (sentences), the (row, column) of a pixel set to the brightest value
    (image), or a column's name (table): a new column, or one overwritten in the planted rows, holding the class's
    number + 1. A mapping class -> cue says each by itself (not for tables); a single cue means `word_class` or pixels
    side by side. With `label`, only rows of that class get it, as it stands. Words and sentences go in at random
    places. The rows are in `notes["planted"]`; `planted` gives the units. `relevant` keeps to the task itself.
    """
    if not 0 < rate <= 1:
        raise InputError(f"rate must be above 0 and at most 1, got {rate}")
    if "planted" in data.notes:
        raise InputError("these data already carry a planted cue; plant into the data as loaded")
    cues = _cues(data, cue, label)
    rows = {part: _rows(data[part].y, list(cues), rate, seeds.derive(seed, "plant", part)) for part in PARTS}
    insert = {"words": _insert, "sentences": _insert, "image": _brighten, "table": _fill}[data.kind]
    made = [insert(data, part, cues, rows[part], seeds.derive(seed, "place", part)) for part in PARTS]
    layout, frames = _widened(data, cues) if data.kind == "table" else (data.layout, data.frames)
    record = {
        "cue": {data.classes[code]: value for code, value in cues.items()},
        "rate": rate,
        "rows": {part: index.tolist() for part, index in rows.items()},
    }
    return joined(data.name, layout, data.classes, made, {**data.notes, "planted": record}, frames)


def decided(data: Dataset, cue: Cue, rate: float = 1.0, seed: int = 0) -> Dataset:
    """The same inputs where the cue alone decides: classes are drawn afresh, in equal numbers, and then planted.

    Of a row without a cue (1 - rate of them) the class cannot be known. The planted units are the truth, `relevant`.
    """
    drawn = [replace(data[part], y=_drawn(len(data[part]), len(data.classes), seed, part)) for part in PARTS]
    made = plant(joined(data.name, data.layout, data.classes, drawn, data.notes, data.frames), cue, rate, seed)
    known = [replace(made[part], relevant=planted(made, part), relevant_sentences=None) for part in PARTS]
    return joined(made.name, made.layout, made.classes, known, made.notes, made.frames)


def _drawn(n: int, classes: int, seed: int, part: str) -> Tensor:
    rng = seeds.generator(seeds.derive(seed, "drawn classes", part))
    return torch.arange(n)[torch.randperm(n, generator=rng)] % classes


def planted(data: Dataset, split: str = "test") -> Tensor:
    """(n, d) bool: which units of `data[split]` carry a planted cue."""
    if "planted" not in data.notes:
        raise InputError("no cue was planted in these data; make them with unmask.data.plant")
    record, part = data.notes["planted"], data[split]
    marks = torch.zeros_like(part.valid)
    for row in record["rows"][split]:
        marks[row, _units(data, part, row, record)] = True
    return marks


def _units(data: Dataset, part: Split, row: int, record: Mapping[str, Any]) -> list[int]:
    if record.get("at") == "first sentence":
        return [0]
    if data.kind == "words":
        return [place for place, word in enumerate(part.x[row]) if word in record["cue"].values()]
    cue = record["cue"][data.classes[int(part.y[row])]]
    if data.kind == "sentences":
        return [place for place, sentence in enumerate(part.x[row]) if " ".join(sentence) == cue]
    if data.kind == "table":
        return [data.units.index(cue)]
    return [data.layout.owner[cue[0] * data.layout.shape[2] + cue[1]]]


def _cues(data: Dataset, cue: Cue, label: str | None) -> dict[int, Any]:
    """Class number -> its cue, checked."""
    for name in [label] if label is not None else cue if isinstance(cue, Mapping) else []:
        if name not in data.classes:
            raise unknown("class", str(name), data.classes)
    if isinstance(cue, Mapping):
        if label is not None or data.kind == "table":
            raise InputError("a mapping class -> cue takes no label and is not for tables; give a single cue instead")
        cues = {data.classes.index(name): value for name, value in cue.items()}
    elif label is not None:
        cues = {data.classes.index(label): cue}
    else:
        cues = {code: _for_class(data, cue, code) for code in range(len(data.classes))}
    for value in cues.values():
        _check(data, value)
    return cues


def _for_class(data: Dataset, cue: Any, code: int) -> Any:
    if data.kind == "table":
        return cue
    if isinstance(cue, str):
        return f"{cue}_{data.classes[code]}"
    return (cue[0], cue[1] + code)


def _check(data: Dataset, cue: Any) -> None:
    if data.kind != "image":
        if not isinstance(cue, str) or not cue.strip():
            raise InputError(f"a cue in {data.kind} data is a string, got {cue!r}")
        if data.kind == "words" and any(cue in row for part in PARTS for row in data[part].x):
            raise InputError(f"the word {cue!r} already stands in the data; choose one that does not")
        return
    height, width = data.layout.shape[1:]
    if not isinstance(cue, tuple) or not (0 <= cue[0] < height and 0 <= cue[1] < width):
        raise InputError(f"a cue in images is a (row, column) inside {height} by {width} pixels, got {cue!r}")


def _rows(y: Tensor, codes: list[int], rate: float, seed: int) -> Tensor:
    """round(rate * count) rows of each of the classes `codes`."""
    rng = seeds.generator(seed)
    chosen = []
    for code in codes:
        rows = (y == code).nonzero().flatten()
        chosen.append(rows[torch.randperm(len(rows), generator=rng)][: round(rate * len(rows))])
    return torch.cat(chosen).sort().values


def _brighten(data: Dataset, part: str, cues: dict[int, Any], rows: Tensor, seed: int) -> Split:
    split, x = data[part], data[part].x.clone()
    brightest = data.train.x.max()
    for code, (row, column) in cues.items():
        x[rows[split.y[rows] == code], :, row, column] = brightest
    return replace(split, x=x)


def _fill(data: Dataset, part: str, cues: dict[int, Any], rows: Tensor, seed: int) -> Split:
    split, column = data[part], next(iter(cues.values()))
    if column in data.units:
        x = split.x.clone()
        x[rows, _column(data, column)] = split.y[rows].float() + 1
        return replace(split, x=x)
    new = torch.zeros(len(split), 1)
    new[rows, 0] = split.y[rows].float() + 1
    valid = torch.cat([split.valid, torch.ones(len(split), 1, dtype=torch.bool)], dim=1)
    truth = split.relevant
    truth = None if truth is None else torch.cat([truth, torch.zeros(len(split), 1, dtype=torch.bool)], dim=1)
    return replace(split, x=torch.cat([split.x, new], dim=1), valid=valid, relevant=truth)


def _column(data: Dataset, name: str) -> int:
    columns = data.groups[data.units.index(name)]
    if len(columns) > 1:
        raise InputError(f"{name!r} is made of {len(columns)} columns; plant into a number or name a new column")
    return columns[0]


def _widened(data: Dataset, cues: dict[int, Any]) -> tuple[Layout, Any]:
    column, layout, frames = next(iter(cues.values())), data.layout, data.frames
    if column in data.units:
        return layout, frames
    owner, units = (*layout.owner, len(layout.units)), (*layout.units, column)
    if isinstance(frames, FrameCodec):
        frames = FrameCodec((*frames.columns, Column(column, "float64")))
    says = (*layout.says, (layout.says[-1][0] + 1, "")) if layout.says else ()
    return Layout("table", (len(owner),), owner, units, says), frames


def _insert(data: Dataset, part: str, cues: dict[int, Any], rows: Tensor, seed: int) -> Split:
    """A word or sentence more in each planted row, at a random place; what is known of the others moves along."""
    split, rng = data[part], seeds.generator(seed)
    x = [list(row) for row in split.x]
    facts = {name: _lists(split, name) for name in ("relevant", "relevant_sentences", "sentence_of")}
    for row in rows.tolist():
        place = int(torch.randint(len(x[row]) + 1, (), generator=rng))
        cue = cues[int(split.y[row])]
        _move(facts, row, place, data.kind)
        x[row].insert(place, cue if data.kind == "words" else cue.split())
    filled = {name: padded(value, -1 if name == "sentence_of" else False) for name, value in facts.items() if value}
    return replace(split, x=x, valid=data.layout.valid(x), **filled)


def _lists(split: Split, name: str) -> list[list[Any]]:
    """A fact about the units of each row without its padding; empty where it is unknown."""
    fact = getattr(split, name)
    if fact is None:
        return []
    if name == "relevant_sentences" and split.sentence_of is not None:
        return list(fact.tolist())
    return [row[: len(units)] for row, units in zip(fact.tolist(), split.x, strict=True)]


def _move(facts: dict[str, list[list[Any]]], row: int, place: int, kind: str) -> None:
    if facts["relevant"]:
        facts["relevant"][row].insert(place, False)
    if facts["relevant_sentences"] and kind == "sentences":
        facts["relevant_sentences"][row].insert(place, False)
    if facts["sentence_of"]:
        owner = facts["sentence_of"][row]
        owner.insert(place, owner[min(place, len(owner) - 1)])
