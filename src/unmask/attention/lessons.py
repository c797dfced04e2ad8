"""What training an attention model needs of it: its rows as it reads them, what it says and where it looks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.models import Wrapped
from unmask.models.attending import Attentive, attentive, embedding_of, looked, padding, reach
from unmask.task import Task, begin
from unmask.types import Dataset, Inputs, Split

__all__ = ["Batch", "Lesson", "Part", "copied", "lesson", "looked", "part", "protocol"]

TRIED = 4  # rows on which the protocol of a model is tried out


@dataclass(frozen=True)
class Part:
    """Rows of one split: as the model reads them, their labels, and what the model as given said and looked at."""

    x: Tensor
    y: Tensor
    valid: Tensor  # (n, d)
    p: Tensor  # (n, classes) answers of the model as given
    w: Tensor  # (n, d) its attention
    marked: Tensor | None = None  # (n, d) words that the trainer named, where it named any

    @property
    def rows(self) -> tuple[Tensor, ...]:
        marked = () if self.marked is None else (self.marked,)
        return self.x, self.y, self.valid, self.p, self.w, *marked


@dataclass(frozen=True)
class Batch:
    """Some training rows at one step, as in `Part`."""

    x: Tensor
    y: Tensor
    valid: Tensor
    p: Tensor
    w: Tensor
    rng: torch.Generator
    marked: Tensor | None = None


@dataclass(frozen=True)
class Lesson:
    """A model that stays as it is, a copy that learns, and the rows for both."""

    task: Task
    given: Attentive
    student: Attentive
    train: Part
    held: Part

    @cached_property
    def embedding(self) -> nn.Module:
        """The part of the student that turns words into vectors."""
        return embedding_of(self.student.module, x=self.train.x)

    @cached_property
    def still(self) -> Tensor:
        """The ids of what is no word: their vectors are not moved."""
        return padding(self.train.x, self.train.valid)

    @cached_property
    def reach(self) -> float:
        """How far noise moves a value of a word vector of the model as given."""
        return reach(embedding_of(self.given.module, x=self.train.x))


def lesson(model: Any, data: Dataset, k: int, removal: str | None, words: Sequence[str] = ()) -> Lesson:
    """Ask the model once about all rows of training and validation; its copy is the student. `words` are marked."""
    task = begin(model, data, k, removal)
    tried = data.train.x[:TRIED]
    given, student = protocol(task.ready(), tried), protocol(copied(task.ready()), tried)
    train, held = (part(task, given, split, words) for split in (data.train, data.validation))
    return Lesson(task, given, student, train, held)


def copied(wrapped: Wrapped) -> Wrapped:
    """The same model with a module of its own, which may learn; frozen parameters stay frozen."""
    module = deepcopy(_module(wrapped))
    return replace(wrapped, module=module, call=module)


def protocol(wrapped: Wrapped, rows: Inputs) -> Attentive:
    """The model's attention, tried out on a few rows."""
    return attentive(_module(wrapped), wrapped.feed(rows[:TRIED]), wrapped.attention)


def _module(wrapped: Wrapped) -> nn.Module:
    if wrapped.module is None:
        raise InputError(f"{wrapped.name} is no torch module: only of one can attention be had")
    return wrapped.module


def part(task: Task, given: Attentive, split: Split, words: Sequence[str] = ()) -> Part:
    """The rows of a split, and what the model as given says and looks at there."""
    model = task.ready()
    if model.outputs != "logits":
        raise InputError(
            f"{model.name} answers with probabilities, and training needs logits: wrap the module without its softmax, "
            "with outputs='logits'"
        )
    valid = task.reader.layout.valid(split.x)
    x = model.feed(split.x)
    raw, w = looked(given, x)
    if w.shape != valid.shape:
        raise InputError(
            f"attention must have one weight for each word, {tuple(valid.shape)}, got {tuple(w.shape)}; special tokens "
            "must not be among them"
        )
    return Part(x.cpu(), split.y, valid, raw.softmax(1), w, _marked(split.x, valid, words) if words else None)


def _marked(x: Inputs, valid: Tensor, words: Sequence[str]) -> Tensor:
    """(n, d) bool: which words are among those named, as they are written in the data."""
    marks = torch.zeros_like(valid)
    for mark, row in zip(marks, x, strict=True):
        mark[: len(row)] = torch.tensor([word in words for word in row], dtype=torch.bool)
    if not bool(marks.any()):
        raise InputError(f"none of the words {', '.join(words)} stands in these rows; name words of the data")
    return marks
