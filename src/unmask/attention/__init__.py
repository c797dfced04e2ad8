"""Attention classifiers: training them, stabilising them, leading them astray; weights serve as explanations."""

from __future__ import annotations

__all__: list[str] = []
