"""What a default audit looks at lightly: on some of the rows, and only where nothing has to be trained again.

Whether a choice depends on the model, the seed or the baseline takes explaining all rows many times over, and training
a learned explainer as often. A default audit has a look at it all the same; in full these checks are run by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from torch import Tensor

from unmask.audit import function_of
from unmask.audit.case import Case, Subject, Values, missing, placed, some
from unmask.audit.stability import BY_CONSTRUCTION
from unmask.types import rows_of

__all__ = ["AGAIN", "ROWS", "lightly"]

ROWS = 100
FITS = ("randomized-model", "seed-stability", "removal-sensitivity")  # what fits the explainer again
AGAIN = "left out of a default audit, for it would have to be trained again: name the check to run it"

K = TypeVar("K")


def lightly(case: Case, subject: Subject, check: str) -> Values:
    """The values of a check on ROWS rows at even distances; none where the explainer would be trained again."""
    if check in FITS and hasattr(subject.explainer, "recipe"):
        return missing(case, AGAIN)
    index = some(case, ROWS)
    few = case.once("few rows", lambda: _few(case, index))
    found: Values = function_of(check)(few, _of(subject, index, few.valid.shape[1]))

    def back(some_: Mapping[K, Tensor]) -> dict[K, Tensor]:
        return {key: placed(case, index, values) for key, values in some_.items()}

    return replace(
        found,
        values=placed(case, index, found.values),
        over=None if found.over is None else placed(case, index, found.over),
        note=_noted(found.note, len(index), len(case.target)),
        parts=back(found.parts),
        curve=back(found.curve),
    )


def _noted(note: str, rows: int, whole: int) -> str:
    if rows == whole or note in BY_CONSTRUCTION:
        return note
    return f"{rows} of the rows; {note}" if note else f"{rows} of the rows"


def _few(case: Case, index: Tensor) -> Case:
    """The same case with some of its rows, and a memory of its own; texts are as wide as the longest of them."""
    parts: dict[str, Any] = {name: getattr(case, name) for name in ("valid", "target", "full", "labels", "relevant")}
    rows: dict[str, Any] = {name: None if part is None else part[index] for name, part in parts.items()}
    width = int(rows["valid"].sum(1).max()) if case.data.layout.is_text else case.valid.shape[1]
    for name in ("valid", "relevant"):
        rows[name] = None if rows[name] is None else rows[name][:, :width]
    subjects = tuple(_of(s, index, width) for s in case.subjects)
    return replace(case, x=rows_of(case.x, index), subjects=subjects, memory={}, **rows)


def _of(subject: Subject, index: Tensor, width: int) -> Subject:
    again: Any = subject.explainer
    if isinstance(getattr(again, "k", None), Tensor):  # a control that keeps as many units as another explanation
        again = replace(again, k=again.k[index])
    own = subject.explanation.rows(index)
    cut = {name: getattr(own, name)[:, :width] for name in ("scores", "kept", "valid")}
    return replace(subject, explanation=replace(own, **cut), explainer=again)
