"""Real text sets with a label and no rationale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unmask.data import DATASETS, folder, hub, sizes
from unmask.data.layouts import WORDS
from unmask.data.splits import joined, words_split
from unmask.data.tokens import tokenize
from unmask.errors import InputError, unknown
from unmask.types import Dataset, Split

__all__ = ["TEXTS", "Texts", "load_text"]


@dataclass(frozen=True)
class Texts:
    """The files of one set and how many rows each must have."""

    files: dict[str, int]  # part -> rows
    classes: tuple[str, ...] = ("negative", "positive")
    usual: sizes.Caps = sizes.SMALL
    column: str = "text"  # of the public copy
    caveat: str = ""


TEXTS = {
    "emotion": Texts({"train": 3257, "dev": 374, "test": 1421}, ("anger", "joy", "optimism", "sadness")),
    "hate": Texts(
        {"train": 9000, "dev": 1000, "test": 2970},
        ("other", "hate"),
        caveat="test is known to differ from train, and shares 232 texts with it: report validation too",
    ),
    "imdb": Texts(
        {"train": 25000, "test": 25000}, usual=sizes.REVIEWS, caveat="123 texts stand in both train and test"
    ),
    "rotten-tomatoes": Texts(
        {"train": 8530, "dev": 1066, "test": 1066}, caveat="shares its sentences with sst2 and sst5"
    ),
    "sst2": Texts({"train": 6920, "dev": 872, "test": 1821}),
    "sst2-glue": Texts(
        {"train": 67349, "dev": 872},
        usual=sizes.REVIEWS,
        column="sentence",
        caveat="GLUE's dev rows are the test; validation phrases come from the same sentences as training phrases",
    ),
    "sst5": Texts(
        {"train": 8544, "dev": 1101, "test": 2210},
        ("very negative", "negative", "neutral", "positive", "very positive"),
    ),
    "yelp-sentences": Texts(
        {"train": 126670, "test": 63483},
        usual=sizes.REVIEWS,
        caveat="not Yelp Review Polarity; 2,884 short sentences stand in both train and test",
    ),
}


def load_text(
    name: str,
    seed: int,
    only: str | None = None,
    rows: Any = None,
    scale: str = "default",
    length: int | None = 400,
    truncate: str = "head",
) -> Dataset:
    """A labelled text set; `only` keeps the classes it names, joined by a hyphen."""
    recipe = TEXTS[name]
    parts = _parts(name, recipe)
    empty = sum(recipe.files.values()) - sum(len(texts) for texts, _ in parts.values())
    classes = recipe.classes
    if only is not None:
        classes, parts = _only(only, classes, parts)
    cut = sizes.Cut(rows, scale, length, truncate)
    notes = {"source": DATASETS[name].where, "caveat": recipe.caveat, "empty texts left out": empty, **cut.notes()}
    return joined(name, WORDS, classes, _choose(parts, recipe.usual, seed, cut), notes)


Part = tuple[list[str], Tensor]


def _parts(name: str, recipe: Texts) -> dict[str, Part]:
    """Texts and labels of each file, from the folder or from the hub, row counts checked, empty texts left out."""
    source = DATASETS[name]
    place = folder.find(source.where)
    if place is None:
        found = hub.columns(name, source.where, source.hub, (recipe.column, "label"))
    else:
        found = {part: _listed(folder.read_jsonl(place / f"{part}.jsonl.gz")) for part in recipe.files}
    parts = {}
    for part, expected in recipe.files.items():
        texts, labels = found[part]
        folder.check_rows(name, part, len(texts), expected)
        rows = [row for row, text in enumerate(texts) if text.strip()]  # a text without a word has nothing to select
        parts[part] = ([texts[row] for row in rows], torch.tensor([labels[row] for row in rows]))
    return parts


def _listed(records: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    return [record["text"] for record in records], [record["label"] for record in records]


def _only(only: str, classes: tuple[str, ...], parts: dict[str, Part]) -> tuple[tuple[str, ...], dict[str, Part]]:
    names = tuple(only.split("-"))
    for name in names:
        if name not in classes:
            raise unknown("class", name, classes)
    if len(set(names)) < 2:
        raise InputError(f"only must name at least two classes joined by a hyphen, such as anger-joy, got {only!r}")
    codes = {classes.index(name): new for new, name in enumerate(names)}
    kept: dict[str, Part] = {}
    for part, (texts, y) in parts.items():
        rows = [i for i, label in enumerate(y.tolist()) if label in codes]
        kept[part] = ([texts[i] for i in rows], torch.tensor([codes[int(y[i])] for i in rows]))
    return names, kept


def _choose(parts: dict[str, Part], usual: sizes.Caps, seed: int, cut: sizes.Cut) -> list[Split]:
    """Train, validation and test rows within the limits, tokenised and cut."""
    train, validation, test = sizes.caps(cut.rows, cut.scale, usual)
    last = parts["test" if "test" in parts else "dev"]
    if "dev" in parts and "test" in parts:
        picked = [(parts["train"], sizes.some(parts["train"][1], train, seed))]
        picked += [(parts["dev"], sizes.some(parts["dev"][1], validation, seed))]
    else:
        picked = [(parts["train"], index) for index in sizes.held_out(parts["train"][1], train, validation, seed)]
    picked += [(last, sizes.some(last[1], test, seed))]
    return [_split(part, index, cut) for part, index in picked]


def _split(part: Part, index: Tensor, cut: sizes.Cut) -> Split:
    texts, y = part
    return words_split([sizes.clip(tokenize(texts[i]), cut) for i in index.tolist()], y[index])
