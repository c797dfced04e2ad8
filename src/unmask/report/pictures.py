"""Pictures as inline SVG: the front between two checks, curves, where choices stand, and maps of attention over words.

Colours come from the page's style sheet, so the pictures follow light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from unmask.labels import Room, beside, leader
from unmask.report.plots import Axis, axis, tick
from unmask.report.wording import number

__all__ = ["Point", "bars", "curves", "front", "heat"]

WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 34, 48
LETTER, DOT = 7.4, 6.0  # room for one letter, radius of a spot
ROOM = Room((LEFT, TOP, WIDTH - 2, HEIGHT - BOTTOM), letter=LETTER, dot=DOT)
COLOURS = 7  # line colours of the style sheet
MARKS = (  # what stands on the points of a line, drawn around them: one for each colour
    "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",  # circle
    "m-4.5-4.5h9v9h-9z",  # square
    "m0-6l6 10.5h-12z",  # triangle
    "m0-7l6 7l-6 7l-6-7z",  # diamond
    "m0 6l6-10.5h-12z",  # triangle upside down
    "m-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",  # plus
    "m-5.5-5.5h11l-11 11h11z",  # hourglass
)
APART = 3  # of so many points one has a mark, at most; each line has other ones, which show where lines run together
DASHES = ("none", "8 4", "2 4", "10 4 2 4")  # lines and gaps; the first is for the first explanations alone
READ_OUT = 6  # points of a line that its picture in words names
CELL, ROW = 40, 26  # width and height of a cell in a map
LONGEST = 16  # letters of a word above a map


@dataclass(frozen=True)
class Point:
    """One explanation in the picture of the front; spans are its intervals."""

    name: str
    x: float
    y: float
    x_span: tuple[float, float]
    y_span: tuple[float, float]
    look: str  # "trust", "care", "reject", "plain" or "control"


@dataclass(frozen=True)
class Look:
    """How a line is drawn; two lines differ in more than their colour."""

    colour: str  # a class of the style sheet
    dashes: str
    mark: str = ""


@dataclass(frozen=True)
class Plane:
    """Two axes laid over the drawing area."""

    across: Axis
    up: Axis

    def place(self, x: float, y: float) -> tuple[float, float]:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * self.across.share(x), 1), self.height(y)

    def height(self, y: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self.up.share(y), 1)


def front(points: Sequence[Point], names: tuple[str, str]) -> str:
    """Two checks, both better when higher; a line joins the explanations that no other one beats on both."""
    plane = Plane(
        axis((v for p in points for v in (p.x, *p.x_span)), zero=False),
        axis((v for p in points for v in (p.y, *p.y_span)), zero=False),
    )
    spots = [plane.place(p.x, p.y) for p in points]
    parts = [_frame(plane, names), _staircase(plane, points)]
    parts += [_cross(plane, p) for p in points]
    parts += [_spot(spot, p.look) for spot, p in zip(spots, points, strict=True)]
    parts += _labels(spots, [p.name for p in points])
    return _picture("".join(parts), f"{names[1]} against {names[0]} for {len(points)} explanations")


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], controls: Sequence[str], names: tuple[str, str]) -> str:
    """One line of (x, y) for each explanation, named in a legend below; controls are dashed."""
    known = {name: [(x, y) for x, y in sorted(line) if math.isfinite(x + y)] for name, line in lines.items()}
    every = [point for line in known.values() for point in line]
    plane = Plane(axis(x for x, _ in every), axis(y for _, y in every))
    looks = _looks(list(lines), controls)
    drawn = [([plane.place(*point) for point in line], looks[name]) for name, line in known.items()]
    paths = [_line(places, look) for places, look in drawn]
    marked = [(places, look) for places, look in drawn if look.mark and places]
    apart = min(APART, len(marked))
    paths += [_marks(places[i % apart :: apart] or places, look) for i, (places, look) in enumerate(marked)]
    key = "".join(f"<li>{_swatch(look)}{escape(name)}</li>" for name, look in looks.items())
    return _picture(_frame(plane, names) + "".join(paths), _told(known, names)) + f'<ul class="key">{key}</ul>'


def heat(words: Sequence[str], lines: Sequence[tuple[str, Sequence[float]]], label: str) -> str:
    """Weights of words, one line of cells for each name; the numbers stand in the cells, deeper means more."""
    heads = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]
    left = round(LETTER * max((len(name) for name, _ in lines), default=0)) + 12
    slant = round(0.72 * LETTER * max(map(len, heads), default=0)) + 14
    top = max((w for _, weights in lines for w in weights), default=0.0) or 1.0
    parts = [_head(left + CELL * (i + 0.5), slant, word) for i, word in enumerate(heads)]
    for at, (name, weights) in enumerate(lines):
        y = slant + ROW * at
        parts.append(f'<text class="name" x="{left - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
        parts += [_cell(left + CELL * i, y, w, w / top) for i, w in enumerate(weights)]
    wide, high = left + CELL * len(heads) + slant, slant + ROW * len(lines) + 4
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    return f'<svg class="map" {size} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _head(x: float, y: float, word: str) -> str:
    return f'<text class="name" transform="translate({x:.0f} {y - 6}) rotate(-45)">{escape(word)}</text>'


def _cell(x: float, y: float, weight: float, strength: float) -> str:
    box = f'<rect class="heat" x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{ROW - 2}" rx="3"'
    text = f'<text class="name" x="{x + CELL / 2:.0f}" y="{y + 17}" text-anchor="middle">{weight:.2f}</text>'
    return f'{box} fill-opacity="{0.03 + 0.42 * strength:.2f}"/>{text}'


def bars(shares: Mapping[str, tuple[str, Mapping[str, float]]], names: tuple[str, str]) -> str:
    """Name -> its look and its shares by place: "own" is filled, "people" framed beside it, "level" a dashed line.

    All of them have the same places. They are named in a legend below.
    """
    labels = list(next(iter(shares.values()))[1])
    plane = Plane(Axis((0.0,)), axis(v for _, found in shares.values() for v in found.values()))
    wide = (WIDTH - LEFT - RIGHT) / len(labels)
    parts = [_frame(plane, names)]
    for look, found in shares.values():
        tops = [plane.height(share) for share in found.values()]
        parts += [_bar(LEFT + wide * i, wide, top, look) for i, top in enumerate(tops)]
    for i, label in enumerate(labels):
        at = f'x="{LEFT + wide * (i + 0.5):.1f}" y="{HEIGHT - BOTTOM + 17}"'
        parts.append(f'<text {at} text-anchor="middle">{escape(label)}</text>')
    key = "".join(f"<li>{_box(look)}{escape(who)}</li>" for who, (look, _) in shares.items())
    return _picture("".join(parts), _spoken(shares)) + f'<ul class="key">{key}</ul>'


def _bar(left: float, wide: float, top: float, look: str) -> str:
    """One share in the slot of its place: on the left half, on the right half, or across both."""
    if look == "level":
        return (
            f'<line class="level" x1="{left + wide * 0.06:.1f}" x2="{left + wide * 0.94:.1f}" y1="{top}" y2="{top}"/>'
        )
    start = left + wide * (0.12 if look == "own" else 0.52)
    size = f'width="{wide * 0.36:.1f}" height="{HEIGHT - BOTTOM - top:.1f}"'
    return f'<rect class="bar {look}" x="{start:.1f}" y="{top}" {size}/>'


def _box(look: str) -> str:
    inside = f'<rect class="bar {look}" x="2" y="1" width="18" height="11"/>'
    if look == "level":
        inside = '<line class="level" x1="0" x2="22" y1="7" y2="7"/>'
    return f'<svg width="22" height="13" aria-hidden="true">{inside}</svg> '


def _spoken(shares: Mapping[str, tuple[str, Mapping[str, float]]]) -> str:
    """The same in words, for those who do not see the picture."""
    told = (f"{who}: " + ", ".join(f"{at} {v:.0%}" for at, v in found.items()) for who, (_, found) in shares.items())
    return "share by place. " + "; ".join(told)


def _picture(inside: str, label: str) -> str:
    head = f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
    return f"{head}{inside}</svg>"


def _frame(plane: Plane, names: tuple[str, str]) -> str:
    floor, parts = HEIGHT - BOTTOM, []
    for t in plane.across.ticks if len(plane.across.ticks) > 1 else ():  # one tick: places, which have names
        x, _ = plane.place(t, 0)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{floor}"/>')
        parts.append(f'<text x="{x}" y="{floor + 17}" text-anchor="middle">{tick(t)}</text>')
    for t in plane.up.ticks:
        y = plane.height(t)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick(t)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(names[0])}</text>')
    return "".join(parts) + f'<text class="name" x="0" y="13">{escape(names[1])}</text>'


def _staircase(plane: Plane, points: Sequence[Point]) -> str:
    """The line below which everything is beaten by one explanation; controls do not count."""
    best = -math.inf
    corners: list[tuple[float, float]] = []
    for p in sorted((p for p in points if p.look != "control"), key=lambda p: (-p.x, -p.y)):
        if p.y > best:
            corners += [(p.x, best), (p.x, p.y)] if corners else [(p.x, plane.up.ticks[0]), (p.x, p.y)]
            best = p.y
    if not corners:
        return ""
    path = [plane.place(*corner) for corner in [*corners, (plane.across.ticks[0], best)]]
    return f'<polyline class="front" points="{" ".join(f"{x},{y}" for x, y in path)}"/>'


def _cross(plane: Plane, p: Point) -> str:
    parts = ""
    if all(map(math.isfinite, p.x_span)):
        (left, y), (right, _) = plane.place(p.x_span[0], p.y), plane.place(p.x_span[1], p.y)
        parts += f'<line class="thin {p.look}" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
    if all(map(math.isfinite, p.y_span)):
        (x, low), (_, high) = plane.place(p.x, p.y_span[0]), plane.place(p.x, p.y_span[1])
        parts += f'<line class="thin {p.look}" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
    return parts


def _spot(spot: tuple[float, float], look: str) -> str:
    """A round dot for an explanation, a square for a control."""
    x, y = spot
    if look == "control":
        return f'<rect class="dot control" x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"/>'
    return f'<circle class="dot {look}" cx="{x}" cy="{y}" r="{DOT}"/>'


def _labels(spots: Sequence[tuple[float, float]], names: Sequence[str]) -> list[str]:
    """Each name beside its spot, led back to it where it stands further away."""
    out = []
    for spot, name, box in zip(spots, names, beside(spots, names, ROOM), strict=True):
        line = leader(spot, box, ROOM)
        if line is not None:
            (x, y), (to_x, to_y) = line
            out.append(f'<line class="leader" x1="{x}" y1="{y}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>')
        out.append(f'<text class="label" x="{box[0]:.1f}" y="{box[3] - 3.5:.1f}">{escape(name)}</text>')
    return out


def _looks(names: Sequence[str], controls: Sequence[str]) -> dict[str, Look]:
    """Explanations have marks, and dashes once all marks are used; controls have dashes, and then marks."""
    shown = [name for name in names if name not in controls]
    beside = [name for name in names if name in controls]
    looks = {}
    for i, name in enumerate(shown):
        rounds, at = divmod(i, len(MARKS))
        looks[name] = Look(f"c{i % COLOURS}", DASHES[rounds % len(DASHES)], MARKS[at])
    for i, name in enumerate(beside):
        rounds, at = divmod(i, len(DASHES) - 1)
        looks[name] = Look("control", DASHES[1 + at], ("", *MARKS)[rounds % (1 + len(MARKS))])
    return {name: looks[name] for name in names}


def _line(places: Sequence[tuple[float, float]], look: Look) -> str:
    corners = " ".join(f"{x},{y}" for x, y in places)
    return f'<polyline class="curve {look.colour}" stroke-dasharray="{look.dashes}" points="{corners}"/>'


def _marks(places: Sequence[tuple[float, float]], look: Look) -> str:
    return f'<path class="mark {look.colour}" d="{"".join(f"M{x} {y}{look.mark}" for x, y in places)}"/>'


def _swatch(look: Look) -> str:
    line = f'<line class="curve {look.colour}" stroke-dasharray="{look.dashes}" x1="0" x2="44" y1="7" y2="7"/>'
    mark = _marks([(22, 7)], look) if look.mark else ""
    return f'<svg width="44" height="14" aria-hidden="true">{line}{mark}</svg> '


def _told(lines: Mapping[str, Sequence[tuple[float, float]]], names: tuple[str, str]) -> str:
    """Curves in words, for those who do not see the picture: some points of each, the first and the last among them."""
    said = []
    for name, line in lines.items():
        last, count = len(line) - 1, min(len(line), READ_OUT)
        chosen = [line[round(i * last / max(1, count - 1))] for i in range(count)]
        points = ", ".join(f"{number(y)} at {tick(x)}" for x, y in chosen)
        said.append(f"{name}: {points or '–'}")
    return f"{names[1]} over {names[0]}. " + "; ".join(said)
