"""All methods by name, from the rooms that hold them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from unmask import attention, explainers
from unmask.entries import Method
from unmask.errors import unknown

__all__ = ["METHODS", "make"]

ROOMS = {"explainers": explainers.METHODS, "attention": attention.METHODS}
METHODS: dict[str, Method] = {name: method for table in ROOMS.values() for name, method in table.items()}


def make(name: str, k: int, removal: str | None = None, settings: Mapping[str, Any] | None = None) -> Any:
    """An unfitted explainer by its name; `settings` are further fields of its class."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    room = next(room for room, table in ROOMS.items() if name in table)
    module, _, attribute = METHODS[name].path.partition(":")
    cls = getattr(importlib.import_module(f"unmask.{room}.{module}"), attribute)
    return cls(k=k, removal=removal, **{**METHODS[name].settings, **(settings or {})})
