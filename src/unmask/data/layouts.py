"""Layouts of the four kinds, and the names of their units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmask.errors import InputError
from unmask.types import Layout

__all__ = ["SENTENCES", "WORDS", "image_layout", "table_layout"]

WORDS = Layout("words")
SENTENCES = Layout("sentences")


def image_layout(shape: tuple[int, int, int], patch: int = 1) -> Layout:
    """One unit for each pixel, or for each square of `patch` by `patch` pixels, in reading order."""
    height, width = shape[1:]
    if patch < 1 or height % patch or width % patch:
        raise InputError(f"patch must divide the image ({height} by {width} pixels), got {patch}")
    across = width // patch
    owner = tuple((r // patch) * across + c // patch for r in range(height) for c in range(width))
    what = "pixel" if patch == 1 else "patch"
    units = tuple(f"{what} {r},{c}" for r in range(height // patch) for c in range(across))
    return Layout("image", shape, owner, units)


def table_layout(
    columns: Sequence[str], groups: Mapping[str, Sequence[int | str]] | None = None, what: str = "column"
) -> Layout:
    """One unit for each column, or for each of `groups` (unit -> its columns by number or name).

    `what` is the word for a column in what is said to the user.
    """
    if groups is None:
        return Layout("table", (len(columns),), tuple(range(len(columns))), tuple(columns))
    owner: dict[int, int] = {}
    for unit, (name, members) in enumerate(groups.items()):
        for member in members:
            place = _place(member, columns, name, what)
            if place in owner:
                raise InputError(f"each {what} belongs to one group, but {columns[place]!r} is in two; remove it once")
            owner[place] = unit
    left = [name for place, name in enumerate(columns) if place not in owner]
    if left:
        raise InputError(f"groups must cover every {what}, but {left[0]!r} ({len(left)} in all) is in none; add it")
    return Layout("table", (len(columns),), tuple(owner[place] for place in range(len(columns))), tuple(groups))


def _place(member: int | str, columns: Sequence[str], group: str, what: str) -> int:
    if isinstance(member, str) and member in columns:
        return list(columns).index(member)
    if not isinstance(member, str) and 0 <= member < len(columns):
        return int(member)
    raise InputError(f"group {group!r} names {what} {member!r}, expected a name or a number 0..{len(columns) - 1}")
