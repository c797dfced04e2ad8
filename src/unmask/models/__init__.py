"""Adapters: anything that predicts classes, behind one call `model(x) -> (n, classes)` probabilities."""

from __future__ import annotations

from unmask.models.wrapped import Wrapped, counted, shown
from unmask.models.wrapping import bind, wrap

__all__ = ["Wrapped", "bind", "counted", "shown", "wrap"]
