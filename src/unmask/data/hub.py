"""Data sets of the Hugging Face hub, through the optional package `datasets`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.data import folder
from unmask.data.own import dataset
from unmask.errors import InputError, unknown
from unmask.types import Dataset

__all__ = ["columns", "convert", "from_hub"]

_PARTS = {"train": "train", "dev": "validation", "test": "test"}  # our file -> the hub's split
_TEXT_NAMES = ("text", "sentence", "review", "content")


def columns(name: str, where: str, hub: str, wanted: tuple[str, str]) -> dict[str, tuple[list[Any], list[Any]]]:
    """Part -> (inputs, labels) of a set of our table, by its two columns; empty where there is no such part."""
    if not hub:
        raise folder.missing(name, where, hub)
    try:
        loaded = _open(hub)
    except ModuleNotFoundError as fault:
        raise folder.missing(name, where, hub) from fault
    nothing: dict[str, list[Any]] = {column: [] for column in wanted}
    found = {part: loaded.get(split, nothing) for part, split in _PARTS.items()}
    return {part: (list(table[wanted[0]]), list(table[wanted[1]])) for part, table in found.items()}


def from_hub(
    id_or_folder: str, text: str | None = None, label: str = "label", config: str | None = None, seed: int = 0
) -> Dataset:
    """A text set of the hub, or a folder written by `save_to_disk`, by its text and label columns.

    Its own splits are kept; validation and test rows that are lacking are drawn from the training rows.
    """
    try:
        loaded = _open(f"{id_or_folder}:{config}" if config else id_or_folder)
    except ModuleNotFoundError as fault:
        raise InputError(f'{id_or_folder} needs the package datasets; run pip install "unmask[hf]"') from fault
    parts = loaded if isinstance(loaded, Mapping) else {"train": loaded}
    return convert(parts, text, label, seed, name=Path(id_or_folder).name)


def convert(
    parts: Mapping[str, Any], text: str | None = None, label: str = "label", seed: int = 0, name: str = "hub"
) -> Dataset:
    """Splits of named columns as a Dataset; a column may be a list or whatever `datasets` returns for one."""
    if "train" not in parts:
        raise InputError(f"expected a split named 'train', got {', '.join(map(str, parts)) or 'none'}; name it so")
    names = _columns(parts["train"])
    chosen = text or next((known for known in _TEXT_NAMES if known in names), None)
    for column in (chosen, label):
        if column not in names:
            raise unknown("column", str(column), names)
    kept = {ours: parts[theirs] for theirs, ours in _ours(parts).items()}
    x = [value for part in kept.values() for value in part[chosen]]
    y = [value for part in kept.values() for value in part[label]]
    sizes = {part: len(list(table[label])) for part, table in kept.items()}
    return dataset(x, y, "words", classes=_classes(parts["train"], label), split=_positions(sizes, y, seed), name=name)


def _ours(parts: Mapping[str, Any]) -> dict[str, str]:
    known = {"train": "train", "validation": "validation", "dev": "validation", "test": "test"}
    return {theirs: ours for theirs, ours in known.items() if theirs in parts}


def _columns(table: Any) -> list[str]:
    return list(getattr(table, "column_names", None) or table)


def _classes(table: Any, label: str) -> Sequence[str] | None:
    feature = getattr(table, "features", {}).get(label)
    return getattr(feature, "names", None)


def _positions(sizes: dict[str, int], y: list[Any], seed: int) -> dict[str, Any]:
    """Row numbers of the three splits in the rows put end to end."""
    from unmask.data.labels import labels
    from unmask.data.splits import shares

    start, spans = 0, {}
    for part, size in sizes.items():
        spans[part] = list(range(start, start + size))
        start += size
    lacking = [part for part in ("validation", "test") if part not in spans]
    if lacking:
        codes, _ = labels([y[i] for i in spans["train"]], None)
        pieces = shares(codes, seed, (1 - 0.2 * len(lacking), *[0.2] * len(lacking)))
        for part, piece in zip(("train", *lacking), pieces, strict=True):
            spans[part] = piece.tolist()  # training rows come first, so positions among them are positions overall
    return spans


def _open(identity: str) -> Any:
    """The loaded splits; `identity` is a folder of `save_to_disk`, or an id with its configuration after a colon."""
    datasets = importlib.import_module("datasets")
    if Path(identity).is_dir():
        return datasets.load_from_disk(identity)
    base, _, config = identity.partition(":")
    try:
        return datasets.load_dataset(base, config or None)
    except Exception as fault:  # the package raises many kinds: no network, no such set, no access
        raise InputError(
            f"{base} could not be fetched from the hub ({fault}); check the name and the network, or take a file, or a "
            "data set of `unmask data`"
        ) from fault
