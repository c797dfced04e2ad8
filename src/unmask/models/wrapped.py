"""A model behind one call: batches that split themselves, answers that are checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from unmask import batches, devices
from unmask.errors import InputError, UnmaskError
from unmask.masking.removals import MASK
from unmask.types import Inputs, Model, Removal

__all__ = ["Tally", "Wrapped", "counted", "shown"]


@dataclass
class Tally:
    """How many rows wrapped models were asked about."""

    rows: int = 0


_OPEN: list[Tally] = []


@contextmanager
def counted() -> Iterator[Tally]:
    """Inside, every row that any wrapped model answers is counted, whichever copy of the wrapper is asked."""
    tally = Tally()
    _OPEN.append(tally)
    try:
        yield tally
    finally:
        _OPEN[:] = [other for other in _OPEN if other is not tally]


def _count(rows: int) -> None:
    for tally in _OPEN:
        tally.rows += rows


@dataclass
class Wrapped:
    """`call(feed(rows))` answers one batch with raw outputs; everything around it happens here, once.

    `module` is there where gradients can be had: `module(feed(rows))` are the raw outputs then. `estimator` is the
    scikit-learn classifier that was wrapped, where it was one.
    """

    name: str
    call: Callable[[Any], Any]
    feed: Callable[[Inputs], Any]
    outputs: Literal["probabilities", "logits"]
    removal: str | None = None
    classes: int | None = None
    labels: tuple[str, ...] = ()  # names of the answer's columns, where the model knows them
    order: tuple[int, ...] = ()  # its own column of each class of the data, where the data have them in another order
    module: nn.Module | None = None
    estimator: Any = None
    mask_token: str | None = None
    takes: str = "array"
    batch: int = 512  # rows in one call at most
    pads: bool = False  # texts of one call are made equally long: short ones are asked about together
    values: int | None = None  # pixels or words in one call at most, where large calls are slow
    attention: str | None = None  # the submodule whose output is the attention weights, where one was named
    pieces: Any = None  # how what the module reads belongs to words, where it reads pieces of them (see hugging.py)
    details: dict[str, Any] = field(default_factory=dict)

    def __call__(self, x: Inputs) -> Tensor:
        """(n, classes) probabilities; a batch that does not fit into memory is halved and tried again."""
        if len(x) == 0:
            return torch.empty(0, self.classes or 0)
        if self.module is not None and self.module.training:  # somebody trains it between two questions
            self.module.eval()
        if self.pads and not isinstance(x, Tensor):
            order = torch.tensor([len(row) for row in x]).argsort(stable=True)
            return self._in_turn([x[i] for i in order.tolist()])[order.argsort()]
        return self._in_turn(x)

    def _in_turn(self, x: Inputs) -> Tensor:
        size = self._rows(x)
        parts, fitted = batches.in_turn(lambda part: self._checked(x[part]), len(x), size)
        self.batch = self.batch if fitted == size else fitted
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def _rows(self, x: Inputs) -> int:
        """How many of the rows are asked about in one call."""
        if self.values is None or getattr(x, "ndim", 0) == 2:  # networks make less of a column than of a pixel or word
            return self.batch
        return batches.fitting(_longest(x), self.batch, self.values, batches.fewest(x))

    def _checked(self, rows: Inputs) -> Tensor:
        with torch.no_grad(), devices.exact():
            raw = _numbers(self.name, self._asked(rows))
        _count(len(rows))
        _check_shape(self.name, raw, len(rows), self.classes)
        raw = self._arranged(raw)
        if self.outputs == "logits":
            return raw.softmax(1)
        _check_probabilities(self.name, raw)
        return raw.clamp(min=0) / raw.clamp(min=0).sum(1, keepdim=True)

    def _asked(self, rows: Inputs) -> Any:
        try:
            return self.call(self.feed(rows))
        except Exception as error:
            missing = isinstance(rows, Tensor) and bool(rows.isnan().any())
            if not missing or isinstance(error, UnmaskError) or batches.out_of_memory(error):
                raise
            raise InputError(
                f"{self.name} does not take missing values, and these rows hold some; fill them in"
            ) from error

    def log_probabilities(self, prepared: Tensor) -> Tensor:
        """(n, classes) log-probabilities of prepared rows, with gradients, in one call: who asks makes the batches."""
        if self.module is None:
            raise InputError(
                f"{self.name} gives no gradients: use a method that only calls the model, such as occlusion"
            )
        raw: Tensor = self.module(prepared)
        _count(len(prepared))
        raw = self._arranged(raw)
        return raw.log_softmax(1) if self.outputs == "logits" else raw.clamp(min=1e-12).log()

    def _arranged(self, raw: Tensor) -> Tensor:
        return raw[:, list(self.order)] if self.order else raw

    def column(self, classes: Tensor) -> Tensor:
        """The model's own columns of these classes of the data."""
        return torch.tensor(self.order)[classes] if self.order else classes

    def token(self, removal: str) -> str:
        """What `removal` puts in place of a hidden word; a model that reads plain text must have a mask token."""
        if removal == "mask-token" and self.mask_token is None and self.takes == "text":
            raise InputError(f"{self.name} has no mask token: give wrap a tokenizer that has one, or use 'delete'")
        return self.mask_token or MASK

    def describe(self) -> dict[str, Any]:
        """What the report says of the model."""
        return {"name": self.name, "takes": self.takes, "outputs": self.outputs, **self.details}


def shown(model: Model, removal: Removal, x: Inputs, kept: Tensor) -> Tensor:
    """(n, classes) what the model says when only the kept units are shown; a mean where hiding draws at random."""
    first, *others = [model(version) for version in removal.versions(x, kept)]
    return torch.stack([first, *others]).mean(0) if others else first


def _longest(x: Inputs) -> int:
    """Values of a row; of texts words, of the longest."""
    if not isinstance(x, list):
        return math.prod(x.shape[1:])
    return max(map(batches.words, x))


def _numbers(name: str, answer: Any) -> Tensor:
    answer = answer.to_numpy() if hasattr(answer, "to_numpy") else answer  # a data frame
    try:
        raw = torch.as_tensor(np.ascontiguousarray(answer) if isinstance(answer, np.ndarray) else answer)
    except (RuntimeError, TypeError, ValueError) as error:
        what = type(answer).__name__ + (f" of {answer.dtype}" if isinstance(answer, np.ndarray) else "")
        raise InputError(
            f"{name} must answer with an array or tensor (rows, classes) of numbers, got {what}; "
            "wrap a callable that takes the numbers out"
        ) from error
    return raw.detach().float().cpu()


def _check_shape(name: str, raw: Tensor, n: int, classes: int | None) -> None:
    want = f"({n}, {classes or 'classes'})"
    if raw.ndim != 2 or len(raw) != n or raw.shape[1] < 2 or classes not in (None, raw.shape[1]):
        hint = "; for two classes return both columns, 1 - p and p" if raw.numel() == n and classes in (None, 2) else ""
        raise InputError(f"{name} must answer {n} rows with shape {want}, got {tuple(raw.shape)}{hint}")
    if not bool(raw.isfinite().all()):
        bad = int((~raw.isfinite()).any(1).nonzero()[0])
        raise InputError(
            f"{name} answered row {bad} of a batch with a value that is not finite; does it take missing values?"
        )


def _check_probabilities(name: str, raw: Tensor) -> None:
    total = raw.sum(1)
    if bool((raw < -1e-4).any()) or bool(((total - 1).abs() > 1e-2).any()):
        worst = total[(total - 1).abs().argmax()].item()
        raise InputError(
            f"{name} should return probabilities, but a row sums to {worst:.4g} or holds negative values; "
            "if these are logits, say wrap(model, outputs='logits')"
        )
