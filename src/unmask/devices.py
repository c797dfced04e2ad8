"""Where tensors live."""

from __future__ import annotations

import torch

__all__ = ["pick"]


def pick(name: str = "auto") -> torch.device:
    """The device `name`; "auto" is CUDA or MPS where present, else the CPU."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
