"""Small hand-made data of every kind, for the tests of masks, networks and models."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.types import Dataset, Inputs, Layout, Split

PLAIN = Layout("table", (4,), (0, 1, 2, 3), ("age", "height", "weight", "pulse"))
GROUPED = Layout("table", (5,), (0, 1, 0, 2, 1), ("colour", "place", "age"))
TEXTS = [
    ["the", "soup", "was", "warm"],
    ["cold", "soup"],
    ["the", "waiter", "was", "kind", "and", "the", "soup", "good"],
    ["bad"],
    ["kind", "waiter", "bad", "soup", "warm"],
]
REVIEWS = [
    [["the", "soup", "was", "warm"], ["cold", "tea"], ["fine"]],
    [["bad", "soup"]],
    [["the", "waiter", "was", "kind"], ["warm"], ["the", "tea", "was", "good", "and", "warm"], ["cold", "soup"]],
    [["kind"], ["bad", "tea"]],
]


def grid(channels: int, side: int, patch: int = 1) -> Layout:
    """Square images of `side` pixels with units of `patch` by `patch` pixels."""
    across = side // patch
    owner = tuple((r // patch) * across + c // patch for r in range(side) for c in range(side))
    return Layout("image", (channels, side, side), owner, tuple(f"square {i}" for i in range(across**2)))


def dataset(layout: Layout, x: Inputs, y: Tensor | None = None, classes: int = 2) -> Dataset:
    """The rows as all three splits of a task."""
    y = torch.arange(len(x)) % classes if y is None else y
    rows = Split(x, y, layout.valid(x))
    return Dataset("made", layout, tuple(f"class {c}" for c in range(classes)), rows, rows, rows)


def values(layout: Layout, n: int = 6, seed: int = 1) -> Tensor:
    """Rows of numbers away from zero mean and unit spread."""
    return 3.0 + 2.0 * torch.randn(n, *layout.shape, generator=torch.Generator().manual_seed(seed))


SETS: dict[str, Callable[[], Dataset]] = {
    "table": lambda: dataset(PLAIN, values(PLAIN)),
    "groups": lambda: dataset(GROUPED, values(GROUPED)),
    "grey": lambda: dataset(grid(1, 8), values(grid(1, 8))),
    "colour": lambda: dataset(grid(3, 5), values(grid(3, 5))),
    "patches": lambda: dataset(grid(3, 8, 4), values(grid(3, 8, 4))),
    "words": lambda: dataset(Layout("words"), TEXTS),
    "sentences": lambda: dataset(Layout("sentences"), REVIEWS),
}
ARRAYS = ("table", "groups", "grey", "colour", "patches")
