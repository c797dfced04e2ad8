"""Randomness is an argument: generators made from a seed, and the global state left as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["derive", "generator", "seeded"]


def generator(seed: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator of its own for `seed`."""
    return torch.Generator(device).manual_seed(seed)


def derive(seed: int, *labels: str | int) -> int:
    """A seed that depends on `seed` and on what it is for, so that two uses never share their draws."""
    text = ":".join(map(str, (seed, *labels)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, torch's global generator (initialisers, dropout) starts from `seed`; afterwards it is as before."""
    with torch.random.fork_rng():
        if torch.cuda.is_available() or torch.backends.mps.is_available():
            torch.manual_seed(seed)
        else:  # the same for the CPU; for devices that are not there torch.manual_seed writes down the whole call stack
            torch.default_generator.manual_seed(seed)
        yield
