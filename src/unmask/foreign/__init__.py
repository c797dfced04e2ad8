"""Explanations made elsewhere, brought to our units and toward the class that the model predicts."""

from __future__ import annotations

from unmask.foreign.taking import taken

__all__ = ["taken"]
