"""The data a table is made on, its model, and rows that only judges see."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from unmask import nets, seeds
from unmask.data import DATASETS, load
from unmask.models import Wrapped, bind, wrap
from unmask.reproduce import marks
from unmask.reproduce.tables import Scale, Table
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset

__all__ = ["SIZES", "Reference", "amount", "recipe_of", "reference", "shortened"]

SIZES: dict[tuple[str, Scale], tuple[int, int, int]] = {
    ("words", "quick"): (1000, 250, 500),
    ("words", "default"): (8000, 2000, 4000),
    ("image", "quick"): (800, 200, 500),
    ("image", "default"): (4000, 1000, 2000),
}  # train, validation, test
JUDGES = (2000, 500)  # further training rows, for judges to learn from and to stop on
RECIPES = {
    "words": Recipe(epochs=5, batch=40, rate=1e-3),
    "image": Recipe(epochs=12, batch=128, rate=1.0, optimizer="adadelta"),
}  # of the explained models, as published; quick ones see their few rows more often
SMALL = Recipe(epochs=60, batch=64, rate=1e-3, patience=8)
QUICK_EPOCHS = 15
QUICK_WORDS = 100


@dataclass(frozen=True)
class Reference:
    """`data` is for explainers, `apart` has the same test rows but training and validation rows that no explainer saw.

    Where a set has no rows to spare the two are the same. `answer` is what the model says of the test rows, (n,
    classes): nobody needs to ask again.
    """

    data: Dataset
    apart: Dataset
    model: Wrapped
    answer: Tensor


@lru_cache(maxsize=4)
def reference(table: Table, seed: int, scale: Scale, cache: Path) -> Reference:
    """The data and the model that is explained; the model is trained once and kept in `cache`."""
    data, apart = _rows(table, seed, scale)
    path = model_file(table, seed, scale, cache)
    net = _net(table, data, seed)
    if path.exists():
        net.load_state_dict(load_file(path))
    else:
        train, held_out = ((net.reader.prepare(split.x), split.y) for split in (data.train, data.validation))
        fit_classifier(net, train, held_out, recipe_of(table, scale, seed))
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        save_file({name: value.contiguous() for name, value in net.state_dict().items()}, draft)
        draft.replace(path)
    model = bind(wrap(net.eval(), removal=table.removal), data)
    answer = model(data.test.x)
    right = float((answer.argmax(1) == data.test.y).float().mean())
    model = replace(model, details={**model.details, "test accuracy": round(right, 4)})
    return Reference(data, apart, model, answer)


def model_file(table: Table, seed: int, scale: Scale, cache: Path) -> Path:
    """Where the model is kept; other rows or another recipe have another name."""
    mark = marks.mark(amount(table, scale), recipe_of(table, scale, seed))
    return cache / f"{table.dataset}-{table.removal}-{scale}-{seed}-{mark}.safetensors"


def _net(table: Table, data: Dataset, seed: int) -> Any:
    reader, drawn = nets.read(data, table.removal), seeds.derive(seed, "model")
    if not table.small:
        return nets.default(reader, len(data.classes), seed=drawn)
    with seeds.seeded(drawn):
        return nets.TableNet(reader, len(data.classes), (256, 256))


def recipe_of(table: Table, scale: Scale, seed: int) -> Recipe:
    """How the explained model of a table is trained."""
    recipe = SMALL if table.small else RECIPES[table.kind]
    return replace(recipe, seed=seed, epochs=max(recipe.epochs, QUICK_EPOCHS) if scale == "quick" else recipe.epochs)


def amount(table: Table, scale: Scale) -> tuple[Any, ...]:
    """How many rows, those of judges among them, and how much of each row: what a result stands on."""
    return SIZES.get((table.kind, scale)), JUDGES, _options(table, scale)


def shortened(table: Table, scale: str) -> str:
    """What is said of rows that are shorter than the paper's."""
    quick = table.kind == "words" and scale == "quick"
    return f"A quick run has the last {QUICK_WORDS} words of each text." if quick else ""


def _options(table: Table, scale: Scale) -> dict[str, Any]:
    """As published, the end of a long review is kept; in a quick run, its last words only."""
    if table.kind == "image":
        return {}
    return {"truncate": "tail", **({"length": QUICK_WORDS} if scale == "quick" else {})}


def _rows(table: Table, seed: int, scale: Scale) -> tuple[Dataset, Dataset]:
    if "rows" not in DATASETS[table.dataset].options:  # small sets are taken whole
        data = load(table.dataset, seed=seed)
        return data, data
    options = _options(table, scale)
    if scale == "paper":
        whole = load(table.dataset, seed=seed, scale=scale, **options)
        train = len(whole.train) - sum(JUDGES)
    else:
        train, validation, test = SIZES[table.kind, scale]
        whole = load(table.dataset, seed=seed, rows=(train + sum(JUDGES), validation, test), **options)
    order = torch.randperm(len(whole.train), generator=seeds.generator(seeds.derive(seed, "judges' rows")))
    own, learn, stop = order.split([len(order) - sum(JUDGES), *JUDGES])
    data = replace(whole, train=whole.train.rows(own.sort().values))
    learned, stopped = (whole.train.rows(index.sort().values) for index in (learn, stop))
    return data, replace(whole, train=learned, validation=stopped)
