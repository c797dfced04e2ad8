"""Adapters: anything that predicts classes, behind one call `model(x) -> (n, classes)` probabilities."""

from __future__ import annotations

from unmask.models.binding import bind
from unmask.models.wrapped import Wrapped, counted, shown
from unmask.models.wrapping import wrap

__all__ = ["Wrapped", "bind", "counted", "shown", "wrap"]
