"""Which rows are read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

__all__ = ["AT_ONCE", "by_length", "fewest", "fitting", "in_turn", "out_of_memory", "shuffled", "together", "words"]

T = TypeVar("T")

AT_ONCE = 25_000
"""Values (pixels, words) that a processor reads at once: what networks make of more than that, 250 floats a word, is
beyond the 32 MB that C libraries keep for the next batch, and takes up to twice as long."""
PICTURES = 16  # large images that are read at once all the same: dense layers read as many weights for one as for all
POOL = 25  # batches whose rows are sorted by length
NO_ROOM = ("out of memory", "allocate", "bad_alloc", "alloc_failed", "resource_exhausted")  # as libraries say it


def together(x: Tensor, most: int, values: int = AT_ONCE) -> int:
    """How many rows are read at once: `most`, or fewer where texts or images are long; of tables always `most`."""
    if x.is_floating_point() and x.ndim == 2:  # networks make less of a column than of a pixel or a word
        return most
    return fitting(x[:1].numel(), most, values, fewest(x))


def fewest(x: object) -> int:
    """How many rows are read at once however long they are: some images, one text."""
    return PICTURES if getattr(x, "ndim", 0) == 4 else 1


def fitting(size: int, most: int, values: int, least: int = 1) -> int:
    """How many rows of `size` values each: as many as `values` in all, but at least `least` and at most `most`."""
    return min(most, max(least, values // max(1, size)))


def in_turn(work: Callable[[slice], T], n: int, size: int) -> tuple[list[T], int]:
    """What `work` gives for each part of n rows, `size` at a time, and the size in the end.

    What does not fit into memory is halved and tried again; one row that does not fit is an error.
    """
    found: list[T] = []
    start = 0
    while start < n:
        rows = min(size, n - start)
        try:
            found.append(work(slice(start, start + rows)))
        except Exception as error:
            if rows == 1 or not out_of_memory(error):
                raise
        else:
            start += rows
            continue
        size = rows // 2  # not above: until there the error holds on to what filled the memory
    return found, size


def out_of_memory(error: Exception) -> bool:
    """Whether there was no room, in the words of any library."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(w in str(error).lower() for w in NO_ROOM)


def words(row: Sequence[str] | Sequence[Sequence[str]]) -> int:
    """How many words a text has, of words or of sentences."""
    return sum(1 if isinstance(unit, str) else len(unit) for unit in row)


def by_length(x: Tensor) -> Tensor:
    """The numbers of the rows, short texts (rows of ids) before long ones, so that little is read beyond their end."""
    lengths = _lengths(x)
    return torch.arange(len(x)) if lengths is None else lengths.argsort(stable=True).cpu()


def shuffled(x: Tensor, size: int, rng: torch.Generator) -> list[Tensor]:
    """The numbers of the rows of each batch, in a fresh order.

    Texts of about the same length share a batch: rows are sorted within pools of POOL batches, and the batches come in
    random order. The last batch may be smaller.
    """
    order = torch.randperm(len(x), generator=rng, device=rng.device)
    lengths = _lengths(x)
    if lengths is None:
        return list(order.split(size))
    lengths, pools = lengths.to(rng.device), order.split(POOL * size)
    *batches, last = torch.cat([pool[lengths[pool].argsort(stable=True)] for pool in pools]).split(size)
    shuffled = torch.randperm(len(batches), generator=rng, device=rng.device).tolist()
    return [*(batches[i] for i in shuffled), last]


def _lengths(x: Tensor) -> Tensor | None:
    """(n,) words of texts; None where rows are no texts."""
    return None if x.is_floating_point() or x.ndim < 2 else (x != 0).flatten(1).sum(1)
