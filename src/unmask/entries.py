"""What a table of methods says of each; light, so that names can be listed without loading anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Method"]


@dataclass(frozen=True)
class Method:
    """Where a method lives ("module:class" below its room), the settings that make it, and what it is."""

    path: str
    line: str
    paper: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs_gradients: bool = False
