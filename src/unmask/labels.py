"""Names beside the spots of a picture, clear of each other: which place each of them gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Box", "Room", "beside", "leader"]

Box = tuple[float, float, float, float]  # left, top, right, bottom; y points down
Spot = tuple[float, float]
FURTHEST = 9  # lines between a spot and its name, where all nearer places are taken
GAP = 4.0  # between a spot and its name


@dataclass(frozen=True)
class Room:
    """The part of a picture that names may stand in, and what they need: for a letter, a line, the radius of a spot."""

    frame: Box
    letter: float = 7.4
    line: float = 16.0
    dot: float = 6.0


def beside(spots: Sequence[Spot], names: Sequence[str], room: Room, lines: Sequence[Box] = ()) -> list[Box]:
    """A box for each name beside its spot, which covers neither a spot nor another name if there is such a place.

    `lines` are thin boxes, such as intervals, that names had better not cover either.
    """
    dot = room.dot
    taken: list[Box] = [(x - dot, y - dot, x + dot, y + dot) for x, y in spots]
    for i, name in enumerate(names):
        others = [*taken[:i], *taken[i + 1 :], *lines]
        taken.append(_best(_around(*spots[i], room.letter * len(name), room), others, room))
    return taken[len(spots) :]


def leader(spot: Spot, box: Box, room: Room) -> tuple[Spot, Spot] | None:
    """The line from a spot to its name, where the name stands further away than a line of text."""
    x, y = min(max(spot[0], box[0]), box[2]), box[1] if box[1] > spot[1] else box[3]
    return None if abs(y - spot[1]) <= room.line + room.dot else (spot, (x, y))


def _best(places: Iterator[tuple[float, Box]], taken: Sequence[Box], room: Room) -> Box:
    """The place that costs least: far from its spot, over something else, outside the room."""
    return min((away + sum(_shared(box, t) for t in taken) + _outside(box, room), box) for away, box in places)[1]


def _around(x: float, y: float, width: float, room: Room) -> Iterator[tuple[float, Box]]:
    """Places for a name, each with what its distance costs; right of the spot is liked best."""
    gap, line = room.dot + GAP, room.line
    for down in (0.0, *(side * lines * line for lines in range(1, FURTHEST + 1) for side in (-1, 1))):
        sides = (x + gap, x - gap - width, x - width / 2) if down else (x + gap, x - gap - width)
        for liked, left in enumerate(sides):
            top = y + down - line / 2
            yield 3 * abs(down) + liked, (left, top, left + width, top + line)


def _shared(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box: Box, room: Room) -> float:
    left, top, right, bottom = room.frame
    return 1000 * max(left - box[0], box[2] - right, top - box[1], box[3] - bottom, 0.0)
