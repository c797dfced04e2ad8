"""MNIST and Fashion-MNIST, whole or as pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unmask.data import DATASETS, folder, hub, sizes
from unmask.data.layouts import image_layout
from unmask.data.splits import array_split, joined
from unmask.errors import InputError
from unmask.types import Dataset, Layout, Split

__all__ = ["load_images"]

CLOTHES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
PAIRS = {"mnist-3-8": (3, 8), "fashion-pullover-shirt": (2, 6)}
ROWS = {"train": 60000, "test": 10000}


def load_images(name: str, seed: int, patch: int = 1, rows: Any = None, scale: str = "default") -> Dataset:
    """Pixels in [0, 1]; validation rows come out of the 60,000 training rows."""
    names = CLOTHES if name.startswith("fashion") else tuple("0123456789")
    pair = PAIRS.get(name)
    parts = {part: _of_classes(x, y, pair) for part, (x, y) in _parts(name).items()}
    train, validation, test = sizes.caps(rows, scale, sizes.IMAGES)
    layout = image_layout((1, 28, 28), patch)
    first, second = sizes.held_out(parts["train"][1], train, validation, seed)
    last = sizes.some(parts["test"][1], test, seed)
    made = [_split(parts["train"], first, layout), _split(parts["train"], second, layout)]
    made += [_split(parts["test"], last, layout)]
    classes = names if pair is None else tuple(names[c] for c in pair)
    return joined(name, layout, classes, made, {"source": DATASETS[name].where, "scale": scale})


def _parts(name: str) -> dict[str, tuple[Tensor, Tensor]]:
    source = DATASETS[name]
    place = folder.find(source.where)
    if place is None:
        found = hub.columns(name, source.where, source.hub, ("image", "label"))
        arrays = {part: (_stacked(found[part][0]), np.asarray(found[part][1])) for part in ROWS}
    else:
        path = place / f"{source.where}.npz"
        try:
            with np.load(path) as stored:
                arrays = {part: (stored[f"x_{part}"], stored[f"y_{part}"]) for part in ROWS}
        except (OSError, KeyError, ValueError) as fault:
            raise InputError(
                f"{path} cannot be read ({fault}); it must hold x_train, y_train, x_test, y_test"
            ) from fault
    for part, expected in ROWS.items():
        folder.check_rows(name, part, len(arrays[part][0]), expected)
    return {part: (torch.from_numpy(x), torch.from_numpy(y).long()) for part, (x, y) in arrays.items()}


def _stacked(pictures: list[Any]) -> Any:
    return np.stack([np.asarray(picture) for picture in pictures]) if pictures else np.empty((0, 28, 28))


def _of_classes(x: Tensor, y: Tensor, pair: tuple[int, int] | None) -> tuple[Tensor, Tensor]:
    if pair is None:
        return x, y
    kept = (y == pair[0]) | (y == pair[1])
    return x[kept], (y[kept] == pair[1]).long()


def _split(part: tuple[Tensor, Tensor], index: Tensor, layout: Layout) -> Split:
    x, y = part
    return array_split(x[index].float().div(255).unsqueeze(1), y[index], layout)
