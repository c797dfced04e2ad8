"""Many tasks that need nothing from each other: on one machine by joblib, on many by Ray."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["example"]


def example() -> str:
    """A plan with comments, to start from."""
    return files(__name__).joinpath("example.toml").read_text(encoding="utf-8")
