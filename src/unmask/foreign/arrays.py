"""Arrays, tensors, tuples of Captum and data frames: summed to units, the values of the predicted class picked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unmask import progress
from unmask.errors import InputError
from unmask.foreign.about import About

__all__ = ["picked", "plain", "refuse_interactions", "to_units"]

ZERO = 1e-3  # of the largest value: sums below it are rounding


def plain(about: About, thing: Any) -> Tensor:
    if isinstance(thing, pd.DataFrame):
        return _frame(about, thing)
    if isinstance(thing, tuple) and thing and all(isinstance(one, Tensor) for one in thing):
        thing = thing[0] if len(thing) == 1 else _joined(about, thing)
    if isinstance(thing, list) and _one_for_each_class(about, thing):
        return picked(about, np.stack([np.asarray(one) for one in thing], -1))
    values = _numbers(about, thing)
    if isinstance(values, list):
        return _ragged(about, values)
    if values.ndim == 0:
        raise InputError(f"the scores {about.name!r} are one number; expected one for each unit of each row")
    about.check_rows(len(values))
    return to_units(about, values)


def _joined(about: About, parts: tuple[Tensor, ...]) -> Tensor:
    """Attributions of several inputs of one model, side by side."""
    if about.data.kind != "table" or any(part.ndim != 2 for part in parts):
        raise InputError(f"{about.name!r} holds {len(parts)} tensors, one for each input; give the one of the data")
    return torch.cat([part.detach().cpu() for part in parts], 1)


def _one_for_each_class(about: About, thing: list[Any]) -> bool:
    """The old form of SHAP values: a list with one array (rows, units) for each class."""
    shapes = {np.shape(one) for one in thing if isinstance(one, np.ndarray | Tensor)}
    alike = len(shapes) == 1 and len(thing) == about.classes
    return alike and len(next(iter(shapes))) > 1 and next(iter(shapes))[0] == len(about.split)


def _numbers(about: About, thing: Any) -> Tensor | list[Tensor]:
    """One tensor of the rows, or a list of them where rows differ in length."""
    try:
        if isinstance(thing, Tensor):
            return thing.detach().float().cpu()
        if _is_ragged(thing):
            return [torch.as_tensor(np.array(row, dtype=np.float32)) for row in thing]
        return torch.as_tensor(np.array(thing, dtype=np.float32))
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{about.name!r} must be an explainer, an Explanation, a method's name, an array of scores, or what "
            "Captum, SHAP or LIME return"
        ) from error


def _is_ragged(thing: Any) -> bool:
    rows = isinstance(thing, list | tuple) or (isinstance(thing, np.ndarray) and thing.dtype == object)
    return rows and len({np.shape(row)[:1] for row in thing if not np.isscalar(row)}) > 1


def _ragged(about: About, rows: Sequence[Tensor]) -> Tensor:
    """Rows of different lengths, one value (or vector, or value for each class) for each unit."""
    about.check_rows(len(rows))
    values = torch.zeros(about.split.valid.shape)
    lengths = about.split.valid.sum(1).tolist()
    if all(row.ndim == 2 and row.shape[1] == about.classes for row in rows):
        _tell_classes(about, torch.cat([*rows]))
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if len(row) != length:
            raise InputError(f"row {i} of {about.name!r} has {len(row)} scores, but the row has {length} units")
        flat = row[:, int(about.column[i])] if row.ndim == 2 and row.shape[1] == about.classes else row
        values[i, :length] = flat.reshape(length, -1).sum(1)
    return values


def _frame(about: About, frame: pd.DataFrame) -> Tensor:
    """The columns of a data frame by the names of the units, or of their one-hot columns; without names in order."""
    about.check_rows(len(frame))
    units = about.data.units
    encoded: list[str] = getattr(about.data.frames, "names", list)()
    named = [str(column) for column in frame.columns]
    if not all(isinstance(column, int) for column in frame.columns):
        for known in (list(units), list(encoded)):
            if len(named) == len(known) and set(named) == set(known):
                frame = frame.set_axis(named, axis=1)[known]
                break
        else:
            stranger = next((n for n in named if n not in {*units, *encoded}), None)
            fault = f"the column {stranger!r}, no unit of the data" if stranger else f"{len(named)} columns"
            want = f"the columns {', '.join(units[:5])}, …" if units else "an array: texts have no columns"
            raise InputError(f"the scores {about.name!r} have {fault}; expected {want}")
    values = _numbers(about, frame.to_numpy())
    return to_units(about, values if isinstance(values, Tensor) else torch.stack(values))


def to_units(about: About, values: Tensor) -> Tensor:
    """(n, d), from values over units, columns, pixels, pieces of words or vectors of words."""
    refuse_interactions(about, values)
    if about.data.layout.is_text:
        return _words(about, values)
    found = _gathered(about, values)
    if values.ndim > 2 and values.shape[-1] == about.classes:
        of_target = _gathered(about, _of_target(about, values))
        if found is not None and of_target is not None:
            progress.warn(
                f"the last axis of {about.name!r} is read as {about.classes} channels and summed; if it is of the "
                "classes, give a list with one array for each class"
            )
        found = of_target if found is None else found
    if found is None:
        raise _misshapen(about, values)
    return found


def refuse_interactions(about: About, values: Tensor) -> None:
    """Values (n, d, d) of pairs of columns; where they may be of classes instead, their sums tell."""
    wide, shape = (about.split.valid.shape[1], *about.data.layout.shape), tuple(values.shape)
    if about.data.kind != "table" or len(shape) < 3 or shape[1] != shape[2] or shape[1] not in wide:
        return
    last, classes = "the last axis" if len(shape) == 3 else "axis 2", ""
    if len(shape) == 3 and shape[2] == about.classes:
        if _of_classes(about, values):
            return
        classes = "; values of classes? give a list with one array (rows, units) for each class"
    raise InputError(f"{about.name!r} has shape {shape}: interactions? sum them over {last} first{classes}")


def _of_classes(about: About, values: Tensor) -> bool:
    """Whether the last axis is of classes beyond doubt: what one gains in probability, the others lose."""
    if values.shape[-1] != about.classes:
        return False
    return float(values.sum(-1).abs().max()) <= ZERO * float(values.abs().max())


def _tell_classes(about: About, values: Tensor) -> None:
    """Words may have vectors as long as there are classes."""
    if not _of_classes(about, values):
        progress.warn(
            f"the last axis of {about.name!r} is as long as there are classes ({about.classes}): of each word the "
            "value of the predicted class is read; if it is a vector for each word, sum it over the last axis first"
        )


def _gathered(about: About, values: Tensor) -> Tensor | None:
    layout, wide = about.data.layout, tuple(values.shape[1:])
    if wide == (layout.d,):
        return values
    if layout.kind == "table":
        return layout.gather(values) if wide == layout.shape else None
    channels, height, width = layout.shape
    pixels = {
        (height, width): lambda: values[:, None],
        (1, height, width): lambda: values,
        (channels, height, width): lambda: values,
        (height, width, channels): lambda: values.permute(0, 3, 1, 2),
        (height * width,): lambda: values.reshape(-1, 1, height, width),
        (channels * height * width,): lambda: values.reshape(-1, channels, height, width),
    }
    return layout.gather(pixels[wide]()) if wide in pixels else None


def _words(about: About, values: Tensor) -> Tensor:
    """Values of words or of their pieces; of classes those of the predicted one, a vector for each is summed."""
    valid, model = about.split.valid, about.model
    flat = values
    if values.ndim == 3 and values.shape[-1] == about.classes:
        _tell_classes(about, values)
        flat = _of_target(about, values)
    elif values.ndim == 3:
        flat = values.sum(-1)
    if flat.shape == valid.shape:
        return flat
    if flat.ndim == 2 and model.pieces is not None and model.pieces.pads:
        packed = model.feed(about.split.x).cpu()
        if flat.shape == packed.shape:
            gathered: Tensor = model.pieces.gather(flat, packed, valid.shape[1])
            return gathered
    raise _misshapen(about, values)


def _misshapen(about: About, values: Tensor) -> InputError:
    want = tuple(about.split.valid.shape)
    return InputError(
        f"the scores {about.name!r} must have shape {want} (rows and units), got {tuple(values.shape)}; they are of "
        "other units or of other data"
    )


def _of_target(about: About, values: Tensor) -> Tensor:
    """Of values (n, ..., classes) those of the predicted class."""
    index = about.column.view(-1, *[1] * (values.ndim - 1)).expand(*values.shape[:-1], 1)
    return values.gather(-1, index)[..., 0]


def picked(about: About, values: Any) -> Tensor:
    """Of values (n, ..., classes), as the model counts its classes, those of the predicted one; summed to units."""
    numbers = torch.as_tensor(np.ascontiguousarray(values, dtype=np.float32))
    about.check_rows(len(numbers))
    if numbers.shape[-1] != about.classes:
        raise InputError(
            f"{about.name!r} has values for {numbers.shape[-1]} classes, the data have {about.classes}; explain the "
            "model's probabilities"
        )
    return to_units(about, _of_target(about, numbers))
