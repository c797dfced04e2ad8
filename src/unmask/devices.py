"""Where tensors live, and how precisely networks there compute."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

__all__ = ["PRECISIONS", "mixed", "pick"]

PRECISIONS = ("auto", "full", "mixed")


def pick(name: str = "auto") -> torch.device:
    """The device `name`; "auto" is CUDA or MPS where present, else the CPU."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def mixed(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Inside, products of networks are bfloat16; weights, losses and the noise of draws stay float32.

    "auto" is mixed on graphics cards made for it and full elsewhere: a processor gains nothing by it.
    """
    made_for_it = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if precision == "full" or (precision == "auto" and not made_for_it):
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)
