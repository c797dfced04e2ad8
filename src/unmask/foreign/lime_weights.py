"""LIME's explanations, one for each row: of columns, of words by their place, of segments of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.foreign.about import About, letters
from unmask.foreign.arrays import to_units

__all__ = ["is_lime", "lime_weights"]


def is_lime(thing: Any) -> bool:
    rows = list(thing) if isinstance(thing, list | tuple) else [thing]
    return bool(rows) and all(hasattr(one, "local_exp") for one in rows)


def lime_weights(about: About, thing: Any) -> Tensor:
    rows = list(thing) if isinstance(thing, list | tuple) else [thing]
    about.check_rows(len(rows))
    read = _lime_text if about.data.layout.is_text else _lime_image if hasattr(rows[0], "segments") else _lime_table
    parts = [read(about, i, one, _weights(about, i, one)) for i, one in enumerate(rows)]
    return torch.stack(parts) if about.data.layout.is_text else to_units(about, torch.stack(parts))


def _weights(about: About, i: int, one: Any) -> dict[int, float]:
    """Weight by feature, toward the predicted class; of two classes the other one's weights are the same, negated."""
    target, own = int(about.target[i]), int(about.column[i])
    maps = {int(label): weights for label, weights in one.local_exp.items()}
    if own in maps:
        return {int(feature): float(weight) for feature, weight in maps[own]}
    if about.classes == 2 and 1 - own in maps:
        return {int(feature): -float(weight) for feature, weight in maps[1 - own]}
    raise InputError(
        f"row {i} of {about.name!r} explains class {', '.join(map(str, maps))}, the model predicts {own} "
        f"({about.data.classes[target]}); ask LIME for labels=range({about.classes})"
    )


def _lime_table(about: About, i: int, one: Any, weights: dict[int, float]) -> Tensor:
    mapper = getattr(one, "domain_mapper", None)
    wide = max(len(getattr(mapper, "feature_names", None) or ()), max(weights, default=0) + 1)
    row = torch.zeros(wide)
    row[list(weights)] = torch.tensor(list(weights.values()))
    return row


def _lime_image(about: About, i: int, one: Any, weights: dict[int, float]) -> Tensor:
    """(height, width): each pixel gets the weight of its segment."""
    segments = torch.as_tensor(np.asarray(one.segments)).long()
    by_segment = torch.zeros(int(segments.max()) + 1)
    by_segment[list(weights)] = torch.tensor(list(weights.values()))
    return by_segment[segments]


def _lime_text(about: About, i: int, one: Any, weights: dict[int, float]) -> Tensor:
    """A word's weight at each of its places, found by counting the letters before it."""
    text = one.domain_mapper.indexed_string
    raw = str(text.raw_string())
    owner = letters(about, i, raw)
    row = torch.zeros(about.split.valid.shape[1])
    for feature, weight in weights.items():
        for place in np.atleast_1d(text.string_position(feature)).tolist():
            row[owner[len("".join(raw[: int(place)].split()))]] += weight
    return row
