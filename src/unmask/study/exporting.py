"""A study as a folder: a page for the annotators, its items as a table, and the key that they must not see."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask import seeds, writing
from unmask.errors import InputError
from unmask.study.items import Shown, brightness, shown
from unmask.types import Dataset, Explanation, Frames, Layout, Split

__all__ = ["KEY", "export_study"]

KEY = "key.json"


@dataclass(frozen=True)
class _Source:
    """The rows that were explained, and how to show them."""

    split: Split
    layout: Layout
    classes: tuple[str, ...]
    name: str = ""
    frames: Frames | None = None


@dataclass(frozen=True)
class _Item:
    """One question: a row as one explanation shows it."""

    name: str
    row: int
    explanation: str
    answer: str  # the class the model predicts
    shown: Shown


def export_study(
    explanation: Explanation | Mapping[str, Explanation],
    data: Dataset | Split,
    path: str | Path,
    *,
    n: int = 500,
    seed: int = 0,
) -> Path:
    """Write a study: people see only what was kept and say the class; `score_study` compares that with the model.

    Give annotators index.html alone (it works offline and holds everything) and collect the answers-NAME.csv they
    download; key.json stays with you. `n` rows are drawn. Explanations under several names are mixed blindly: every row
    comes once before any row comes again as another explanation shows it. `data` is the split that was explained, or a
    data set whose test split it was. FS-H of Liang et al. 2020.
    """
    given = _named(explanation)
    source = _source(data, next(iter(given.values())))
    _check(given, source)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n is the number of rows to show and must be a whole number of at least 1, got {n!r}")
    items = _items(given, source, n, seed)
    place = Path(path)
    if place.is_dir() and any(place.glob("answers-*.csv")):
        raise InputError(f"{place} holds answers, which a new study would replace; choose another name or move them")
    key = _key(items, source, seed)
    with writing.new_folder(place, KEY) as draft:
        writing.write_text(draft / KEY, json.dumps(key, indent=1, ensure_ascii=False))
        writing.write_text(draft / "items.csv", _table(items))
        writing.write_text(draft / "index.html", _page(items, source.classes, key["study"]))
        for item in items:
            if item.shown.picture:
                (draft / "pictures").mkdir(exist_ok=True)
                (draft / "pictures" / f"{item.name}.png").write_bytes(item.shown.picture)
    return place


def _named(explanation: Any) -> dict[str, Explanation]:
    if isinstance(explanation, Explanation):
        return {str(explanation.origin.get("method", "explanation")): explanation}
    if not isinstance(explanation, Mapping) or not explanation:
        got = "none" if isinstance(explanation, Mapping) else type(explanation).__name__
        raise InputError(f"expected an Explanation, or names and their Explanations, got {got}")
    for name, thing in explanation.items():
        if not isinstance(thing, Explanation):
            raise InputError(f"{name!r} must be an Explanation (what explain returns), got {type(thing).__name__}")
    return {str(name): thing for name, thing in explanation.items()}


def _source(data: Any, first: Explanation) -> _Source:
    if isinstance(data, Dataset):
        return _Source(data.test, data.layout, data.classes, data.name, data.frames)
    if not isinstance(data, Split):
        raise InputError(f"expected the data set or the split that was explained, got {type(data).__name__}")
    if first.layout is None or not first.classes:
        raise InputError("this explanation does not know its classes and units; give the whole data set, not a split")
    return _Source(data, first.layout, tuple(map(str, first.classes)))


def _check(given: Mapping[str, Explanation], source: _Source) -> None:
    """Every explanation must be of these rows, and all of the same answers."""
    split, (first, *others) = source.split, given
    for name, thing in given.items():
        if thing.kept.shape != split.valid.shape:
            want, got = tuple(split.valid.shape), tuple(thing.kept.shape)
            raise InputError(f"{name!r} must explain the split's rows and units, {want}, got {got}; explain that split")
        if thing.x is not None and not _same(thing.x, split.x):
            raise InputError(f"{name!r} explains other rows than those of the split; explain that split")
        if int(thing.target.max()) >= len(source.classes):
            raise InputError(f"{name!r} explains class {int(thing.target.max())} of {len(source.classes)}; mend target")
    for name in others:
        apart = (given[name].target != given[first].target).nonzero().flatten()
        if len(apart):
            raise InputError(
                f"{first!r} and {name!r} explain different answers in row {int(apart[0])}; they must be of one model"
            )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and bool(torch.equal(one.nan_to_num(), other.nan_to_num()))
    return bool(list(map(list, one)) == list(map(list, other)))


def _items(given: Mapping[str, Explanation], source: _Source, n: int, seed: int) -> list[_Item]:
    rng = seeds.generator(seeds.derive(seed, "study"))
    rows = torch.randperm(len(source.split), generator=rng)[:n]
    chosen = source.split.rows(rows)
    span = brightness(source.split.x) if source.layout.kind == "image" else (0.0, 1.0)
    seen = {
        name: shown(chosen.x, e.kept[rows] & chosen.valid, source.layout, source.frames, span)
        for name, e in given.items()
    }
    target = next(iter(given.values())).target
    made: list[_Item] = []
    for place, name in _order(len(rows), list(given), rng):
        row = int(rows[place])
        answer = source.classes[int(target[row])]
        made.append(_Item(f"item-{len(made) + 1:04d}", row, name, answer, seen[name][place]))
    return made


def _order(n: int, names: Sequence[str], rng: torch.Generator) -> list[tuple[int, str]]:
    """Rounds in which every row comes once, each time under another explanation, drawn anew for each row."""
    turns = torch.stack([torch.randperm(len(names), generator=rng) for _ in range(n)])  # (n, explanations)
    rounds = [torch.randperm(n, generator=rng).tolist() for _ in names]
    return [(place, names[int(turns[place, turn])]) for turn, places in enumerate(rounds) for place in places]


def _key(items: Sequence[_Item], source: _Source, seed: int) -> dict[str, Any]:
    told = {item.name: {"row": item.row, "explanation": item.explanation, "answer": item.answer} for item in items}
    body = {"data": source.name, "classes": list(source.classes), "seed": seed, "items": told}
    content = json.dumps([body, [[item.shown.line, item.shown.picture.hex()] for item in items]])
    study = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=6).hexdigest()
    return {"study": study, "unmask": metadata.version("unmask"), **body}


def _table(items: Sequence[_Item]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["item", "shown"])
    for item in items:
        writer.writerow([item.name, f"pictures/{item.name}.png" if item.shown.picture else item.shown.line])
    return out.getvalue()


def _page(items: Sequence[_Item], classes: Sequence[str], study: str) -> str:
    """The page with the items in it; nothing of the key is."""
    told = {"study": study, "classes": list(classes), "items": [_told(item) for item in items]}
    plain = json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")
    template = resources.files(__package__ or "unmask.study").joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("__STUDY__", plain)


def _told(item: _Item) -> dict[str, Any]:
    if item.shown.picture:
        return {"id": item.name, "picture": base64.b64encode(item.shown.picture).decode()}
    return {"id": item.name, "text": item.shown.text, "units": item.shown.units}
