"""What an audit is given, checked before anything is fitted."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from unmask import progress
from unmask.audit.budget import seconds_of
from unmask.errors import InputError, unknown
from unmask.masking.controls import CONTROLS
from unmask.methods import METHODS, MODELS
from unmask.models import Wrapped
from unmask.types import Dataset, Explanation

__all__ = ["check", "common_k", "rows", "seconds", "whole"]


def check(explanations: Mapping[str, Any], model: Wrapped) -> None:
    """Refuse what cannot be audited, before anything is fitted."""
    such = 'such as {"ig": "integrated-gradients"}'
    if not isinstance(explanations, Mapping):
        raise InputError(f"explanations must be given with their names, {such}, got {type(explanations).__name__}")
    if not explanations:
        raise InputError(f"nothing to audit: give at least one explanation, {such}")
    for name, thing in explanations.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"an explanation needs a name, a string, got {name!r}; {such}")
        if name in CONTROLS:
            raise InputError(f"{name!r} is a control that every audit has; leave it out, or give it another name")
        if isinstance(thing, str) and thing in MODELS:
            raise InputError(f"{thing} is a model that explains itself: audit(r.model(), data, {{{name!r}: r}})")
        if isinstance(thing, str) and thing not in METHODS:
            raise unknown("method", thing, METHODS)
        if isinstance(thing, str) and METHODS[thing].needs_gradients and model.module is None:
            raise InputError(f"{thing} needs gradients, but {model.name} gives none; try 'occlusion' or 'l2x'")


def common_k(explanations: Mapping[str, Any], k: int | None, data: Dataset, split: str) -> int:
    """The number of units the controls keep: `k`, or what the explanations themselves keep."""
    own = {name: thing.k for name, thing in explanations.items() if whole(getattr(thing, "k", None)) is not None}
    found = list(own.values())
    shares = [thing for thing in explanations.values() if isinstance(getattr(thing, "k", None), float)]
    made = [thing.explain(data[split].x) for thing in shares if k is None]  # a share is another number in each row
    made += [thing for thing in explanations.values() if isinstance(thing, Explanation)]
    found += [int(e.kept.sum(1).max()) for e in made]
    if k is None and not found:
        raise InputError("say how many units an explanation keeps: audit(..., k=10)")
    chosen = k if k is not None else max(found)
    d, size = data[split].valid.shape[1], whole(chosen)
    if size is None or not 1 <= size <= d:
        raise InputError(f"k must be a whole number from 1 to {d} (a row of {data.name} has {d} units), got {chosen!r}")
    _remark(size, own, int(data[split].valid.sum(1).max()))
    return size


def _remark(k: int, own: Mapping[str, int], units: int) -> None:
    """Warn where there is nothing to choose, and where explainers keep other numbers than what is said."""
    if k >= units:
        progress.warn(f"k is {k}, all that a row has: nothing is chosen, so a verdict says nothing; keep fewer")
    for name, many in own.items():
        if many != k:
            progress.warn(f"{name!r} keeps {many} units, not {k} as is said: it is audited with its own number")


def rows(n: Any) -> int:
    """How many rows are audited."""
    many = whole(n)
    if many is None or many < 2:
        raise InputError(f"n (--rows) is the number of rows to audit, a whole number of at least 2, got {n!r}")
    return many


def seconds(budget: Any) -> float | None:
    """A budget in seconds, from a number or a time such as "5m"."""
    return None if budget is None else seconds_of(str(budget))


def whole(value: Any) -> int | None:
    """A whole number, numpy's too; None for what is none."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
