"""Where tensors live, and how precisely networks there compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import torch

__all__ = ["PRECISIONS", "exact", "mixed", "pick"]

PRECISIONS = ("full", "mixed")
KINDS = ("cpu", "cuda", "mps")


def pick(name: str = "auto") -> torch.device:
    """The device `name`; "auto" is CUDA or MPS where present, else the CPU."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def mixed(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Inside, where `precision` is "mixed", products of networks are bfloat16; weights and what is drawn stay float32.

    For graphics cards: a processor gains nothing by it.
    """
    return torch.autocast(device.type, torch.bfloat16) if precision == "mixed" else nullcontext()


def exact() -> AbstractContextManager[object]:
    """Inside, nothing is rounded, whatever is asked for around it: what is explained answers as it always does."""
    rounded = [kind for kind in KINDS if torch.is_autocast_enabled(kind)]
    return _without(rounded) if rounded else nullcontext()


@contextmanager
def _without(kinds: Iterable[str]) -> Iterator[None]:
    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(torch.autocast(kind, enabled=False))
        yield
