"""A wrapped model made fit for the rows of a data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from unmask.errors import InputError
from unmask.masking import check_removal
from unmask.models.wrapped import Wrapped
from unmask.models.wrapping import wrap
from unmask.types import Dataset

__all__ = ["bind"]


def bind(model: Any, data: Dataset, removal: str | None = None) -> Wrapped:
    """`model`, wrapped where it is not yet, made fit for the rows of `data`: class count checked, frames decoded."""
    wrapped = wrap(model, removal=removal)
    if wrapped.removal is not None:
        check_removal(wrapped.removal, data.kind)
    if wrapped.classes == 1 and len(data.classes) == 2:
        raise InputError(
            f"{wrapped.name} answers with one column, expected one for each class; wrap a function that returns 1 - p "
            "and p"
        )
    if wrapped.classes not in (None, len(data.classes)):
        raise InputError(
            f"{wrapped.name} knows {wrapped.classes} classes but the data have {len(data.classes)} "
            f"({', '.join(data.classes[:5])}); give the data the model was trained on"
        )
    if wrapped.takes == "frame":
        if data.frames is None and data.layout.shape != (len(data.units),):
            raise InputError(
                f"{wrapped.name} takes data frames, but the data are an array; its {data.layout.shape[0]} columns have "
                f"no names, only {len(data.units)} groups; give the data as a data frame"
            )
        wrapped = replace(wrapped, feed=data.frames.decode if data.frames is not None else _framer(data.units))
    return _ordered(replace(wrapped, classes=len(data.classes)), data.classes)


def _ordered(wrapped: Wrapped, classes: tuple[str, ...]) -> Wrapped:
    """The answer's columns in the order of `classes`, where the model names the same classes in another order."""
    known, wanted = ([_bare(name) for name in names] for names in (wrapped.labels, classes))
    common = set(known) & set(wanted)
    if set(known) != set(wanted) or len(set(wanted)) < len(wanted):
        if common and not (_counts(known) and _counts(wanted)):
            raise InputError(
                f"{wrapped.name} knows the classes {', '.join(wrapped.labels)}, the data have {', '.join(classes)}; "
                "give both the same names"
            )
        return wrapped
    if known == wanted:
        return wrapped
    own = wrapped.order or range(len(known))
    return replace(wrapped, order=tuple(own[known.index(name)] for name in wanted), labels=classes)


def _bare(name: str) -> str:
    """A name whatever its case, a number however it is written: 2.0 is 2."""
    try:
        number = float(name)
    except ValueError:
        return name.casefold()
    return str(int(number)) if number.is_integer() else repr(number)


def _counts(names: Sequence[str]) -> bool:
    """Whether classes are numbers that count from 0 or from 1: then their order is that of counting."""
    numbers = sorted(int(name) for name in names if name.isdigit())
    return numbers in (list(range(len(names))), list(range(1, len(names) + 1)))


def _framer(columns: tuple[str, ...]) -> Callable[[Tensor], Any]:
    def decode(rows: Tensor) -> Any:
        import pandas

        return pandas.DataFrame(rows.numpy(), columns=list(columns))

    return decode
