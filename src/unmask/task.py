"""What every explainer does the same way: get ready for a model and data, and turn scores into an Explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from unmask.data.rows import words
from unmask.errors import InputError, NotFittedError
from unmask.masking import default_removal, subsets
from unmask.masking.removals import make_removal
from unmask.models import Wrapped, bind
from unmask.nets import Reader, read
from unmask.training import evaluate
from unmask.types import Dataset, Explanation, Frames, Inputs, Removal

__all__ = [
    "UNAIMED",
    "Task",
    "approximated",
    "as_inputs",
    "begin",
    "clone",
    "explained",
    "hiding",
    "seeded",
    "settings_of",
    "targets",
    "turned",
]

T = TypeVar("T")
UNAIMED = "caller, but the method explains the model's own answer whatever class is named"


@dataclass(frozen=True)
class Task:
    """What an explainer remembers of the model and the data it was fitted to; the model is not saved with it."""

    reader: Reader
    removal: Removal
    classes: tuple[str, ...]
    model: Wrapped | None = None
    frames: Frames | None = None
    begun: float = field(default_factory=time.perf_counter, compare=False, repr=False)  # when fitting began

    def ready(self) -> Wrapped:
        """The model, or a sentence that says how to get it."""
        if self.model is None:
            raise NotFittedError("this explainer was loaded without its model: load_explainer(path, model=...)")
        return self.model


def hiding(model: Wrapped, data: Dataset, removal: str | None) -> Removal:
    """How units are hidden from the model: as is wished, as the model says, or as is usual for the kind of data."""
    name = removal or model.removal or default_removal(data.kind, model.mask_token is not None)
    return make_removal(name, data, mask_token=model.token(name))


def begin(model: Any, data: Dataset, k: int, removal: str | None) -> Task:
    """Check the request and gather what explaining `model` on rows like `data` needs."""
    wrapped = bind(model, data, removal)
    d = data.train.valid.shape[1]
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= d:
        raise InputError(f"k must be a whole number from 1 to {d} (a row of {data.name} has {d} units), got {k!r}")
    hide = hiding(wrapped, data, removal)
    return Task(read(data, hide.name), hide, tuple(data.classes), wrapped, data.frames)


def explained(
    explainer: Any,
    x: Inputs,
    target: Tensor | None,
    score: Callable[..., Tensor],
    approximate: Callable[[Inputs, Tensor], Tensor] | None = None,
    feedback: bool = False,
    answer: Tensor | None = None,
) -> Explanation:
    """Run `score(x, valid, target) -> (n, d)` and keep the k best valid units of each row.

    `approximate(x, kept)` gives the class that the method's own approximator reads from what is kept; it is asked only
    where an explainer was loaded without its model, for whose answer it stands in. With `feedback`, `score` gets the
    model's whole answer (n, classes) in place of the target, turned toward the caller's target where one is named;
    `answer` is that answer where it is known, or held at that of other rows. A selector without it, or a method whose
    class says `aims = False`, shows the same whatever class is named: then `origin` says so.
    """
    task: Task | None = getattr(explainer, "task_", None)
    if task is None:
        name = type(explainer).__name__
        raise NotFittedError(f"call fit(model, data) before explain: this {name} has learned nothing yet")
    started = time.perf_counter()
    x = as_inputs(x, task)
    valid = task.reader.layout.valid(x)
    if answer is not None and tuple(answer.shape) != (len(x), len(task.classes)):
        raise InputError(f"answer must have shape {(len(x), len(task.classes))}, got {tuple(answer.shape)}")
    answer = (task.ready()(x) if answer is None else answer) if feedback else None
    about = _target(task, x, target, answer, approximate is not None)
    by = "model" if about is not None else "approximator"
    if target is not None:
        by = "caller" if feedback or _aims(explainer) else UNAIMED
    fed = about if answer is None or about is None else turned(answer, about)
    scores = score(x, valid, fed) if len(x) else torch.zeros(valid.shape)
    scores = scores.detach().float().cpu().masked_fill(~valid, 0.0)
    kept = subsets.topk(scores, explainer.k, valid)
    return Explanation(
        scores=scores,
        kept=kept,
        valid=valid,
        target=cast("Any", approximate)(x, kept) if about is None else about,  # one of them is there: see _target
        origin=_origin(explainer, task, time.perf_counter() - started, by),
        x=x,
        layout=task.reader.layout,
        classes=task.classes,
    )


def _aims(explainer: Any) -> bool:
    return getattr(explainer, "aims", not hasattr(explainer, "feedback"))


def approximated(explainer: Any, x: Inputs, kept: Tensor) -> Tensor:
    """(n,) the class that the approximator reads from the units kept, (n, d): a pass of its own, for those who ask."""
    return evaluate(explainer.approximator_, explainer.task_.reader.prepare(x), kept.float()).argmax(1)


def as_inputs(x: Inputs, task: Task) -> Inputs:
    """`x` as rows of the task's kind, data frames and strings as `dataset` reads them; texts hold a word at least."""
    layout = task.reader.layout
    if layout.is_text:
        strings = layout.kind == "words" and isinstance(x, Iterable) and not isinstance(x, (str, Tensor))
        return _texts(words(x) if strings and all(isinstance(row, str) for row in x) else x, layout.kind)
    wanted = f"(n, {', '.join(map(str, layout.shape))})"
    if hasattr(x, "columns"):
        x = _encoded(x, task)
    try:
        rows = torch.as_tensor(x, dtype=torch.float32)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"expected rows of shape {wanted}, got a {type(x).__name__} without numbers") from error
    if rows.ndim != 1 + len(layout.shape) or tuple(rows.shape[1:]) != layout.shape:
        raise InputError(f"expected rows of shape {wanted}, got an array of shape {tuple(rows.shape)}")
    return rows


def _encoded(frame: Any, task: Task) -> Any:
    """The columns of a data frame by name, as the data's were; where these came as an array, as they stand."""
    if task.frames is None:
        return frame.to_numpy(copy=True)
    missing = [unit for unit in task.frames.names_of_variables() if unit not in frame.columns]
    if missing:
        raise InputError(f"the data frame lacks the columns {', '.join(map(str, missing))} that the data had; add them")
    return task.frames.encode(frame)


def _texts(x: Inputs, kind: str) -> Inputs:
    unit, form = (str, "lists of strings") if kind == "words" else ((list, tuple), "lists of lists of strings")
    rows = isinstance(x, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in x)
    if not rows or not all(isinstance(first, unit) for row in x for first in row[:1]):
        raise InputError(f"expected rows of {kind} ({form}), got {type(x).__name__}; split them first")
    empty = next((i for i, row in enumerate(x) if not (len(row) if kind == "words" else any(row))), None)
    if empty is not None:
        raise InputError(f"row {empty} is an empty text: there is nothing to explain; leave it out")
    blank = next((i for i, row in enumerate(x) if kind == "sentences" and not all(len(s) for s in row)), None)
    if blank is not None:
        raise InputError(f"row {blank} has a sentence without words; leave the sentence out")
    return x


def turned(answer: Tensor, target: Tensor) -> Tensor:
    """The answers (n, classes), the highest probability of each row exchanged with that of its target."""
    top = answer.argmax(1, keepdim=True)
    swapped = answer.scatter(1, top, answer.gather(1, target[:, None]))
    return swapped.scatter(1, target[:, None], answer.gather(1, top))


def _target(task: Task, x: Inputs, target: Any, answer: Tensor | None, may_be_read: bool) -> Tensor | None:
    if target is None and answer is not None:
        return answer.argmax(1)
    if target is None:
        return None if task.model is None and may_be_read else task.ready()(x).argmax(1)
    return targets(target, len(x), len(task.classes))


def targets(target: Any, n: int, classes: int) -> Tensor:
    """The classes that a caller asks about, (n,) numbers."""
    try:
        values = torch.as_tensor(target)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"target must hold {n} class numbers from 0 to {classes - 1}, got {target!r}") from error
    if values.shape != (n,) or values.is_floating_point() or bool(((values < 0) | (values >= classes)).any()):
        got = f"{values.dtype} of shape {tuple(values.shape)}" + (f": {values.tolist()}" if n <= 20 else "")
        raise InputError(f"target must hold {n} class numbers from 0 to {classes - 1}, got {got}")
    return values.long()


def _origin(explainer: Any, task: Task, seconds: float, answered_by: str) -> dict[str, Any]:
    facts = {"method": explainer.method, "removal": task.removal.name, "seconds": seconds, "target by": answered_by}
    return {**settings_of(explainer), **facts, **getattr(explainer, "readings_", {})}


def settings_of(explainer: Any) -> dict[str, Any]:
    """The fields of an explainer as plain values, nested settings as mappings."""
    values = ((f.name, getattr(explainer, f.name)) for f in fields(explainer) if f.init)
    return {name: settings_of(value) if is_dataclass(value) else value for name, value in values}


def clone(explainer: T) -> T:
    """An unfitted copy with the same settings."""
    return replace(explainer)  # type: ignore[type-var]


def seeded(explainer: Any, seed: int) -> Any:
    """The same explainer with this seed, where it draws anything."""
    if hasattr(explainer, "recipe"):
        return replace(explainer, recipe=replace(explainer.recipe, seed=seed))
    return replace(explainer, seed=seed) if hasattr(explainer, "seed") else explainer
