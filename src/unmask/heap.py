"""Memory that is freed between two batches stays with the process.

The C library of Linux hands large blocks back to the system as soon as they are free and asks for them again a moment
later; the system then clears them page by page. Networks make such blocks in every step. What that costs hangs on the
machine: from nothing to a good part of the time of training (case `heap` of docs/benchmarks.md).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["kept"]

TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4  # as malloc.h numbers them
KEEP = {MMAP_MAX: 0, TRIM_THRESHOLD: -1}  # no blocks apart, and nothing is handed back
USUAL = {MMAP_MAX: 65536, MMAP_THRESHOLD: 2**25, TRIM_THRESHOLD: 2**26}  # where the library itself ends, by and by
CHOSEN = ("GLIBC_TUNABLES", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "LD_PRELOAD")

_lock = threading.Lock()
_inside: list[None] = []  # one for each that is inside


@contextmanager
def kept() -> Iterator[None]:
    """Inside, what is freed is used again; what is left of it in the end goes back to the system.

    From then on the library keeps as much as it would have come to keep by itself. Where the user has chosen (CHOSEN)
    how memory is handed out, or another library does it, nothing is changed.
    """
    library = _library()
    if library is None or any(name in os.environ for name in CHOSEN):
        yield
        return
    with _lock:
        _inside.append(None)
        _set(library, KEEP)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                _set(library, USUAL)
                library.malloc_trim(0)


def _set(library: Any, options: dict[int, int]) -> None:
    for option, value in options.items():
        library.mallopt(option, value)


@cache
def _library() -> Any:
    """The C library, where it is one whose memory can be told to stay (glibc)."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
