"""Where tensors live, and how precisely networks there compute."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

__all__ = ["PRECISIONS", "exact", "mixed", "pick"]

PRECISIONS = ("full", "mixed")


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
    rounded = next((kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)), None)
    return nullcontext() if rounded is None else torch.autocast(rounded, enabled=False)
