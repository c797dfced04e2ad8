"""One explained row, drawn for the terminal, a notebook or a page; no tensor in sight.

Blue speaks for the explained class and orange against it, stronger for larger scores; what was kept is marked
besides (brackets, bold, an outline), so that nothing hangs on colour alone. In texts, what people marked is framed.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from unmask import pixels
from unmask.errors import InputError, unknown

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Drawing", "Row"]

BLUE, ORANGE = (58, 146, 236), (240, 138, 36)  # told apart in every common kind of colour blindness
TINT = 0.5  # opacity of the strongest score; text on it stays readable in light and dark (contrast above 4.5)
KINDS = ("image", "sentences", "table", "words")
NAMED = 12  # columns of a table that are named although they are not kept: the strongest
SHADES = " ░▒▓█"
TERMINAL_PIXELS = 40  # two characters each, so that a drawing fits 80 columns
PIXELATED = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
STYLES = {"plain": "", "head": "bold", "faint": "dim", "for": "bold blue", "against": "bold yellow"}
FRAME = "outline:1.5px dashed currentColor;outline-offset:1px;border-radius:2px"  # of what people marked

Pieces = Iterator[tuple[str, str]]  # text and one of STYLES


@dataclass(frozen=True)
class Row:
    """One row and its explanation as plain lists (padding left out).

    `values` are words, sentences (each one string), column values, or channels x height x width pixels, flat.
    """

    kind: str  # "table", "image", "words" or "sentences"
    values: list[Any]
    scores: list[float]  # one for each unit, signed toward `label`
    kept: list[bool]
    label: str  # the class explained
    units: list[str] = field(default_factory=list)  # names of the units (tables, images)
    owner: list[int] = field(default_factory=list)  # unit of each column or pixel position
    shape: list[int] = field(default_factory=list)  # of one row: [columns] or [channels, height, width]
    marked: list[bool] = field(default_factory=list)  # texts: units that people marked; empty where nobody did


@dataclass(frozen=True)
class Drawing:
    """A row that draws itself: `print(d)` in a terminal, `d.html` in a page, last in a notebook cell."""

    row: Row

    def __post_init__(self) -> None:
        _check(self.row)

    def __str__(self) -> str:
        return "".join(text for text, _ in _pieces(self.row))

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text.assemble(*((text, STYLES[tone]) for text, tone in _pieces(self.row)))

    @property
    def html(self) -> str:
        """A fragment that needs no style sheet and loads nothing."""
        row = self.row
        head = f'<div class="unmask-head" style="opacity:.8">explained class: <b>{escape(_clean(row.label))}</b></div>'
        body = {"table": _table_html, "image": _image_html}.get(row.kind, _text_html)(row)
        return f'<div class="unmask-drawing" style="font-family:sans-serif">{head}{body}{_legend(row.marked)}</div>'

    def _repr_html_(self) -> str:
        return self.html


def _check(row: Row) -> None:
    if row.kind not in KINDS:
        raise unknown("kind of row", row.kind, KINDS)
    units = len(row.values) if row.kind in ("words", "sentences") else len(row.units)
    if not units == len(row.scores) == len(row.kept):
        got = f"{len(row.scores)} scores and {len(row.kept)} marks of what is kept"
        raise InputError(f"a row of {units} units needs as many scores and marks, got {got}")
    if len(row.marked) not in (0, units):
        raise InputError(f"a row of {units} units needs as many marks of people, or none, got {len(row.marked)}")
    positions = math.prod(row.shape[1:]) if row.kind == "image" else len(row.values)
    if row.kind in ("table", "image") and len(row.owner) != positions:
        raise InputError(f"each of the {positions} columns or pixels needs its unit in `owner`, got {len(row.owner)}")


def _strengths(row: Row) -> list[float]:
    """Scores scaled to -1..1; a missing score counts as none."""
    finite = [s if math.isfinite(s) else 0.0 for s in row.scores]
    top = max((abs(s) for s in finite), default=0.0) or 1.0
    return [s / top for s in finite]


def _value(value: Any) -> str:
    if value is None or value != value:  # only NaN differs from itself
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else _clean(value)


def _clean(text: object) -> str:
    """Without control characters, which could steer a terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in str(text))


def _score(score: float) -> str:
    return f"{score:+.3f}" if math.isfinite(score) else "missing"


def _tone(strength: float) -> str:
    return "for" if strength >= 0 else "against"


def _hue(strength: float) -> str:
    return "{},{},{}".format(*(BLUE if strength >= 0 else ORANGE))


def _unit_values(row: Row) -> list[str]:
    """The values of each unit's columns; a variable spread over many columns is cut short."""
    values: list[list[str]] = [[] for _ in row.units]
    for value, unit in zip(row.values, row.owner, strict=True):
        values[unit].append(_value(value))
    return [", ".join(v[:6]) + (", …" if len(v) > 6 else "") for v in values]


def _ranked(row: Row) -> tuple[list[int], list[int]]:
    """Units kept and units not kept, strongest first."""
    strengths = _strengths(row)
    order = sorted(range(len(strengths)), key=lambda u: -abs(strengths[u]))
    return [u for u in order if row.kept[u]], [u for u in order if not row.kept[u]]


def _pieces(row: Row) -> Pieces:
    yield "explained class: ", "faint"
    yield _clean(row.label) + "\n", "head"
    yield from {"table": _table_text, "image": _image_text}.get(row.kind, _text_text)(row)


def _text_text(row: Row) -> Pieces:
    gap = "\n" if row.kind == "sentences" else " "
    for i, (unit, strength, kept) in enumerate(zip(row.values, _strengths(row), row.kept, strict=True)):
        if i:
            yield gap, "plain"
        sign = " −" if strength < 0 else ""
        yield (f"[{_clean(unit)}{sign}]", _tone(strength)) if kept else (_clean(unit), "faint")


def _table_text(row: Row) -> Pieces:
    (kept, others), strengths = _ranked(row), _strengths(row)
    names, values = [_clean(u) for u in row.units], _unit_values(row)
    wide, deep = (max((len(texts[u]) for u in kept), default=0) for texts in (names, values))
    for u in kept:
        yield f"  {names[u]:<{wide}}  {values[u]:>{deep}}  ", "plain"
        bar = ("█" if strengths[u] >= 0 else "▒") * max(1, round(12 * abs(strengths[u])))
        yield f"{_score(row.scores[u])} {bar}\n", _tone(strengths[u])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    yield f"  not kept: {', '.join(names[u] for u in others[:NAMED]) or 'none'}{more}", "faint"


def _image_text(row: Row) -> Pieces:
    _, height, width = row.shape
    grey, strengths = _grey(row), _strengths(row)
    step = math.ceil(width / TERMINAL_PIXELS)
    for top in range(0, height, step):
        for left in range(0, width, step):
            down, across = range(top, min(top + step, height)), range(left, min(left + step, width))
            cell = [y * width + x for y in down for x in across]
            yield _cell([grey[p] for p in cell], [strengths[row.owner[p]] for p in cell if row.kept[row.owner[p]]])
        yield "\n", "plain"
    yield "marked + : kept, for the class; marked - : kept, against it", "faint"


def _cell(greys: list[float | None], kept: list[float]) -> tuple[str, str]:
    """Two characters for a block of pixels: its shade, and a sign where one of its units is kept."""
    known = [g for g in greys if g is not None]
    shade = SHADES[min(4, int(5 * sum(known) / len(known)))] if known else "?"
    if not kept:
        return 2 * shade, "plain"
    strongest = max(kept, key=abs)
    return shade + ("+" if strongest >= 0 else "-"), _tone(strongest)


def _legend(marked: list[bool]) -> str:
    swatch = '<span style="background:rgba({},.5);padding:0 .8em;border-radius:3px;margin:0 .3em 0 .8em"></span>{}'
    parts = swatch.format(_hue(1), "for the class") + swatch.format(_hue(-1), "against it")
    if any(marked):
        parts += f'<span style="{FRAME};padding:0 .7em;margin:0 .3em 0 .8em"></span>marked by people'
    return f'<div class="unmask-legend" style="font-size:.8em;opacity:.8">kept: marked strongly{parts}</div>'


def _text_html(row: Row) -> str:
    """Neighbours that people marked share one frame."""
    units = zip(row.values, _strengths(row), row.kept, row.scores, strict=True)
    spans = [_mark(escape(_clean(u)), s, _score(v) if kept else None) for u, s, kept, v in units]
    gap = "<br>" if row.kind == "sentences" else " "
    runs = groupby(zip(spans, row.marked or [False] * len(spans), strict=True), key=lambda pair: pair[1])
    parts = [_framed(gap.join(span for span, _ in run), framed) for framed, run in runs]
    return f'<div style="line-height:1.9;overflow-wrap:anywhere">{gap.join(parts)}</div>'


def _framed(text: str, framed: bool) -> str:
    return f'<span class="unmask-people" style="{FRAME}" title="marked by people">{text}</span>' if framed else text


def _mark(text: str, strength: float, score: str | None) -> str:
    """`score` stands only with what was kept; a weak unit that was not kept stays bare, which keeps pages small."""
    back = f"background:rgba({_hue(strength)},{TINT * abs(strength):.2f});border-radius:3px"
    if score is not None:
        line = f"padding:.1em .25em;box-decoration-break:clone;box-shadow:inset 0 -.18em rgb({_hue(strength)})"
        return f'<mark style="color:inherit;font-weight:600;{back};{line}" title="score {score}">{text}</mark>'
    return f'<span style="{back}">{text}</span>' if abs(strength) > 0.08 else text


def _table_html(row: Row) -> str:
    kept, others = _ranked(row)
    if not others:
        return _lines(row, kept)
    told = f"{len(others)} not kept" + (f", the {NAMED} strongest of them" if len(others) > NAMED else "")
    head = f'<summary style="cursor:pointer;font-size:.9em">{told}</summary>'
    return f'{_lines(row, kept)}<details style="opacity:.8">{head}{_lines(row, others[:NAMED])}</details>'


def _lines(row: Row, units: list[int]) -> str:
    values, strengths = _unit_values(row), _strengths(row)
    cell = '<td style="padding:.15em .3em;border:0;text-align:{};overflow-wrap:anywhere">{}</td>'
    body = ""
    for u in units:
        name = f"<b>{escape(_clean(row.units[u]))}</b>" if row.kept[u] else escape(_clean(row.units[u]))
        right = (escape(_clean(values[u])), _bar(strengths[u]), _score(row.scores[u]))
        body += f"<tr>{cell.format('left', name)}{''.join(cell.format('right', text) for text in right)}</tr>"
    return f'<table style="border-collapse:collapse;width:100%;max-width:34em;margin:0">{body}</table>'


def _bar(strength: float) -> str:
    """To the right of the middle for the class, to the left against it."""
    length = 48 * abs(strength)
    start = 50 if strength >= 0 else 50 - length
    bar = f'<rect x="{start:.1f}" y="2" width="{length:.1f}" height="10" fill="rgb({_hue(strength)})"/>'
    axis = '<line x1="50" x2="50" y1="0" y2="14" stroke="currentColor" stroke-opacity=".5"/>'
    size = 'viewBox="0 0 100 14" preserveAspectRatio="none" width="70" height="14" style="vertical-align:-.1em"'
    return f'<svg {size} aria-hidden="true">{bar}{axis}</svg>'


def _image_html(row: Row) -> str:
    _, height, width = row.shape
    picture = base64.b64encode(pixels.png(_tinted(row), width, height)).decode()
    base = f'<image href="data:image/png;base64,{picture}" width="{width}" height="{height}" {PIXELATED}/>'
    lines = _outline(row, True) + _outline(row, False)
    kept = f"{sum(row.kept)} of {len(row.kept)} units kept, class {escape(_clean(row.label))}"
    lost = sum(g is None for g in _grey(row))
    note = f'<div style="font-size:.85em">{lost} pixels missing (grey)</div>' if lost else ""
    size = f'viewBox="0 0 {width} {height}" style="display:block;width:100%;max-width:{max(240, min(width, 480))}px"'
    return f'<svg {size} role="img" aria-label="{kept}">{base}{lines}</svg>{note}'


def _grey(row: Row) -> list[float | None]:
    """Brightness 0..1 of each pixel position between the row's extremes; None where a channel is missing."""
    return [None if p is None else sum(p) / len(p) for p in _pixels(row)]


def _pixels(row: Row) -> list[tuple[float, ...] | None]:
    channels, area = row.shape[0], math.prod(row.shape[1:])
    finite = [v for v in row.values if math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    span = (high - low) or 1.0
    stacked = zip(*(row.values[c * area : (c + 1) * area] for c in range(channels)), strict=True)
    return [tuple((v - low) / span for v in p) if all(map(math.isfinite, p)) else None for p in stacked]


def _tinted(row: Row) -> bytes:
    """RGB bytes of the image, blue and orange laid over the units by strength."""
    strengths, out = _strengths(row), bytearray()
    for pixel, unit in zip(_pixels(row), row.owner, strict=True):
        shown = pixel if pixel is not None else (0.5,)
        rgb = shown if len(shown) == 3 else (sum(shown) / len(shown),) * 3
        over, cover = (BLUE if strengths[unit] >= 0 else ORANGE), TINT * abs(strengths[unit])
        out += bytes(round(255 * c * (1 - cover) + o * cover) for c, o in zip(rgb, over, strict=True))
    return bytes(out)


def _outline(row: Row, positive: bool) -> str:
    """The border around the kept units of one sign, whatever their shape."""
    width = row.shape[2]
    chosen = [kept and (s >= 0) == positive for kept, s in zip(row.kept, _strengths(row), strict=True)]
    inside = {(p % width, p // width) for p, unit in enumerate(row.owner) if chosen[unit]}
    path = pixels.border(inside)
    colour = _hue(1 if positive else -1)
    style = f'fill="none" stroke="rgb({colour})" stroke-width="2.5" vector-effect="non-scaling-stroke"'
    return f'<path d="{path}" {style}/>' if path else ""
