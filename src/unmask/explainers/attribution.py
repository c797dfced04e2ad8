"""What gradient methods share: where gradients are taken, batches, and sums over units.

What is explained is the log-probability of the target class. For texts the gradient is taken at the word vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from unmask.batches import fitting, in_turn, words
from unmask.errors import InputError
from unmask.masking.removals import PAD, Cut
from unmask.task import Task
from unmask.types import Inputs

__all__ = ["ROWS", "baselines", "differentiable", "in_batches", "layer_of", "swept", "to_units"]

T = TypeVar("T")
ROWS = 2048  # rows (or steps of a path) in one backward pass, at most
VALUES = 200_000  # values (pixels, words) in one backward pass, at most
PIECES = 2048  # pieces of words in one backward pass of a transformer, at most: each leaves up to a megabyte behind


def layer_of(task: Task) -> nn.Module | None:
    """The embedding whose vectors stand for words; None where the input itself is differentiable."""
    module = task.ready().module
    if module is None:
        raise _flat(task)
    if not task.reader.layout.is_text:
        return None
    found = next((m for m in module.modules() if isinstance(m, nn.Embedding)), None)
    if found is None:
        raise InputError(f"{type(module).__name__} has no nn.Embedding to take gradients at; use occlusion")
    return found


@contextmanager
def differentiable(task: Task) -> Iterator[None]:
    """Says so where a module answers without a trace for gradients: scripted, quantised, or under `no_grad`."""
    try:
        yield
    except RuntimeError as error:
        if "require grad" not in str(error) and "not have been used in the graph" not in str(error):
            raise
        raise _flat(task) from error


def _flat(task: Task) -> InputError:
    return InputError(
        f"{task.ready().name} gives no gradients: use a method that only calls the model, such as occlusion"
    )


def in_batches(
    task: Task, x: Inputs, target: Tensor, size: int, work: Callable[[Inputs, Tensor, Tensor], T]
) -> list[T]:
    """What `work(rows, prepared rows, target)` gives for `size` rows at a time.

    Fewer where the longest is long or memory does not suffice; all passes of a batch are over before the next begins.
    """
    feed, pieces = task.ready().feed, task.ready().pieces
    size, most = (size, VALUES) if pieces is None else (size if pieces.pads else 1, PIECES)
    longest = x[:1] if isinstance(x, Tensor) else [max(x, key=words)]

    def part(some: slice) -> T:
        prepared = feed(x[some])
        return work(x[some], prepared, target[some].to(prepared.device))

    with differentiable(task):
        return in_turn(part, len(x), fitting(feed(longest).numel(), size, size * most // ROWS))[0]


def to_units(task: Task, attribution: Tensor, prepared: Tensor, d: int) -> Tensor:
    """Attributions of vectors, pixels or columns of the prepared rows, summed to (n, d) over units."""
    if not task.reader.layout.is_text:
        return task.reader.layout.gather(attribution)
    pieces = task.ready().pieces
    if pieces is not None:
        gathered: Tensor = pieces.gather(attribution.sum(-1), prepared, d)
        return gathered
    if prepared.shape[1] > d:
        raise InputError(
            f"the tokenizer gives {prepared.shape[1]} ids for {d} units: gradients need one id for each word, without "
            "special tokens; use occlusion"
        )
    flat = attribution.sum(-1).reshape(*prepared.shape[:2], -1).sum(-1)  # words of a sentence belong together
    return nn.functional.pad(flat, (0, d - flat.shape[1]))


def swept(
    task: Task, x: Inputs, d: int, target: Tensor, attribute: Callable[[Tensor, Tensor, nn.Module | None], Tensor]
) -> Tensor:
    """(n, d) sums over units of `attribute(prepared, target, layer)`, batch by batch; a missing value gets nothing."""
    layer = layer_of(task)

    def summed(rows: Inputs, prepared: Tensor, goal: Tensor) -> Tensor:
        return to_units(task, attribute(prepared, goal, layer).nan_to_num(), prepared, d)

    return torch.cat(in_batches(task, x, target, ROWS, summed))


def baselines(task: Task, rows: Inputs) -> Iterator[Tensor]:
    """The rows with everything removed, prepared; texts keep their length, so deleting becomes padding here."""
    removal, model = task.removal, task.ready()
    if model.pieces is not None:
        yield model.pieces.emptied(model.feed(rows), removal.name)
        return
    if isinstance(removal, Cut) and removal.token is None:
        removal = Cut("pad", PAD)
    nothing = torch.zeros_like(task.reader.layout.valid(rows))
    for version in removal.versions(rows, nothing):
        yield model.feed(version)
