"""The findings as one offline page: what each part shows is gathered here, how it looks is in report.html."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from unmask.drawing import Drawing
from unmask.report import pictures, plots
from unmask.report.plain import plain
from unmask.report.wording import (
    ARROWS,
    DECIDING,
    DIRECTIONS,
    ESTIMATED,
    FURTHER,
    PEOPLE,
    SYMBOLS,
    along,
    find,
    interval,
    names_of,
    number,
    said,
    summary,
)

if TYPE_CHECKING:
    from unmask.drawing import Row
    from unmask.types import Example, Findings, Result, Verdict

__all__ = ["page"]

HEAD = ("k", "removal", "n", "split", "seed", "model is right in")  # settings that stand under the title, where given
FRONT = ("fs-m", "reading")
REST = "Other measures"
READ = {"accuracy": "right, told from the rationale", "first": "first unit in the rationale"}  # in each epoch


@dataclass(frozen=True)
class Card:
    """One verdict with the deciding numbers: (in words, check with arrow, value, random control)."""

    verdict: Verdict
    symbol: str
    numbers: list[tuple[str, str, str, str]]


@dataclass(frozen=True)
class Line:
    """One explanation's result in the table of a check."""

    name: str
    control: bool
    plot: Markup
    value: str
    interval: str
    null: str
    passed: bool | None
    note: str


@dataclass(frozen=True)
class Grid:
    """A check split by something (a class, another explanation): (name, cells), a cell being (text, strength)."""

    by: str
    columns: list[str]
    lines: list[tuple[str, list[tuple[str, float]]]]
    open: bool = False  # a matrix between explanations is what its check is about


@dataclass(frozen=True)
class Check:
    """One check: what it means, then a table with dots, a curve and grids, as far as there are results."""

    name: str
    definition: str
    direction: str
    rows: str  # how many examples it rests on
    ruler: Markup
    lines: list[Line]
    asides: list[str]  # what holds for several explanations, a sentence each: why it does not apply, how it was done
    curve: Markup | None
    grids: list[Grid]


@dataclass(frozen=True)
class Figures:
    """Examples that share a label and an input, one drawing for each explanation."""

    kind: str
    people: Markup | None = None  # the same input with what people marked, where that is known
    drawings: list[tuple[Example, Markup]] = field(default_factory=list)


def page(findings: Findings, version: str) -> str:
    """The whole page as text; the same findings give the same text."""
    files = resources.files("unmask.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files.joinpath("report.html").read_text(encoding="utf-8"))
    settings = plain(findings.settings)
    return template.render(
        style=Markup(files.joinpath("style.css").read_text(encoding="utf-8")),
        version=version,
        findings=findings,
        facts={name: settings[name] for name in HEAD if name in settings},
        summary=summary(findings),
        cards=[_card(findings, v) for v in findings.verdicts if v.explanation not in findings.controls],
        controls=[_card(findings, v) for v in findings.verdicts if v.explanation in findings.controls],
        changes=[(c, ARROWS[c.better], number(c.before), number(c.after)) for c in findings.changes],
        front=_front(findings),
        sections=_sections(findings),
        heats=[(heat, Markup(pictures.heat(heat.words, heat.lines, heat.told))) for heat in findings.heats],
        places=_places(findings),
        learning=_learning(findings),
        examples=_examples(findings.examples),
        marked=any(example.row.marked for example in findings.examples),
        settings=settings,
    )


def _card(findings: Findings, verdict: Verdict) -> Card:
    rows = (
        row
        for check in (*DECIDING, *FURTHER)
        if (row := find(findings, verdict.explanation, check)) is not None
        if row.passed is False or (check in DECIDING and (math.isfinite(row.value) or check in ESTIMATED))
    )
    numbers = [
        ((DECIDING | FURTHER)[r.check], f"{r.check} {ARROWS[r.better]}", said(r.check, r.value), said(r.check, r.null))
        for r in rows
    ]
    return Card(verdict, SYMBOLS[verdict.verdict], numbers)


def _front(findings: Findings) -> Markup | None:
    verdicts: dict[str, str] = {v.explanation: v.verdict for v in findings.verdicts}
    points = []
    for name in names_of(findings):
        x, y = (find(findings, name, check) for check in FRONT)
        if x is None or y is None or not (math.isfinite(x.value) and math.isfinite(y.value)):
            continue
        look = "control" if name in findings.controls else verdicts.get(name, "plain")
        points.append(pictures.Point(name, x.value, y.value, (x.low, x.high), (y.low, y.high), look))
    names = ("fs-m: the model keeps its answer", "reading: a neutral judge finds it")
    return Markup(pictures.front(points, names)) if points else None


def _sections(findings: Findings) -> list[tuple[str, list[Check]]]:
    """Each question with its checks that have results; what belongs to no question comes last."""
    asked = {title: list(dict.fromkeys(map(_base, checks))) for title, checks in findings.questions.items()}
    known = {base for bases in asked.values() for base in bases}
    left = [base for base in dict.fromkeys(_base(row.check) for row in findings.rows) if base not in known]
    sections = []
    for title, bases in [*asked.items(), (REST, left)]:
        checks = [check for base in bases if (check := _check(findings, base)) is not None]
        if checks:
            sections.append((title, checks))
    return sections


def _base(check: str) -> str:
    return check.split("@")[0]


def _check(findings: Findings, base: str) -> Check | None:
    names = names_of(findings)
    place = {name: i for i, name in enumerate(names)}
    rows = sorted((r for r in findings.rows if _base(r.check) == base), key=lambda r: place[r.explanation])
    if not rows:
        return None
    single = [row for row in rows if row.check == base and row.at is None]
    why = _shared(row for row in single if not math.isfinite(row.value))
    single = [row for row in single if row.note not in why or math.isfinite(row.value)]
    how = _shared(single)
    scale = plots.axis(v for row in single for v in (row.value, row.low, row.high, row.null))
    return Check(
        name=base,
        definition=findings.definitions.get(base, ""),
        direction=DIRECTIONS[rows[0].better],
        rows=_counts([row for row in rows if row.n] or rows),
        ruler=Markup(plots.ruler(scale)),
        lines=[_line(row, scale, row.explanation in findings.controls, how) for row in single],
        asides=[f"not for {', '.join(names)}: {reason}" for reason, names in why.items()]
        + [note if len(names) == len(single) else f"{', '.join(names)}: {note}" for note, names in how.items()],
        curve=_curve([row for row in rows if row.check == base and row.at is not None], findings.controls),
        grids=_grids([row for row in rows if row.check != base and row.at is None], names),
    )


def _shared(rows: Iterable[Result]) -> dict[str, list[str]]:
    """Note -> explanations, where several have the same: one sentence says it of all."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            notes.setdefault(row.note, []).append(row.explanation)
    return {note: names for note, names in notes.items() if len(names) > 1}


def _counts(rows: Sequence[Result]) -> str:
    counts = sorted({row.n for row in rows})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _line(row: Result, scale: plots.Axis, control: bool, said_once: Collection[str]) -> Line:
    look = "control" if control else "plain"
    plot = plots.dot(scale, row.value, (row.low, row.high), row.null, look)
    value, null, note = number(row.value), number(row.null), "" if row.note in said_once else row.note
    return Line(row.explanation, control, Markup(plot), value, interval(row), null, row.passed, note)


def _curve(rows: Sequence[Result], controls: Sequence[str]) -> Markup | None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        lines.setdefault(row.explanation, []).append((float(row.at or 0), row.value))
    return Markup(pictures.curves(lines, controls, (along(rows[0].check), rows[0].check))) if rows else None


def _grids(rows: Sequence[Result], names: Sequence[str]) -> list[Grid]:
    """`fs-m@class=3` is the cell of column 3 in the grid by class; explanations as columns keep their order."""
    by: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        part = row.check.split("@", 1)[1]
        key, _, column = part.partition("=") if "=" in part else ("part", "", part)  # a name may hold signs of its own
        by.setdefault(key, {})[row.explanation, column] = row.value
    return [_grid(key, cells, names) for key, cells in by.items()]


def _grid(by: str, cells: dict[tuple[str, str], float], names: Sequence[str]) -> Grid:
    between = by == "explanation"  # agreement: colours mean the same in every matrix
    top = 1.0 if between else max((abs(v) for v in cells.values() if math.isfinite(v)), default=0.0) or 1.0
    found = list(dict.fromkeys(column for _, column in cells))
    columns = [name for name in names if name in found] + [column for column in found if column not in names]
    lines = []
    for name in dict.fromkeys(name for name, _ in cells):
        values = [cells.get((name, column), math.nan) for column in columns]
        lines.append((name, [(_two(v), v / top if math.isfinite(v) else 0.0) for v in values]))
    return Grid(by, columns, lines, open=between)


def _two(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else ""


def _examples(examples: Iterable[Example]) -> dict[str, list[Figures]]:
    """By label, then by input: the same input as each explanation sees it."""
    groups: dict[str, dict[str, Figures]] = {}
    for example in examples:
        row = example.row
        figures = Figures(row.kind, _people(row))
        figures = groups.setdefault(example.label, {}).setdefault(f"{row.kind}{row.values}", figures)
        figures.drawings.append((example, Markup(Drawing(row).html)))
    return {label: list(inputs.values()) for label, inputs in groups.items()}


def _people(row: Row) -> Markup | None:
    """The row with nothing on it but the frames of what people marked."""
    if not row.marked:
        return None
    return Markup(Drawing(replace(row, kept=[False] * len(row.kept), scores=[0.0] * len(row.scores))).html)


def _places(findings: Findings) -> list[tuple[str, Markup]]:
    """For each explanation: where in a text its choices stand, beside those of people and of chance."""
    found, drawn = findings.places, []
    for name, shares in found.items():
        if name == PEOPLE or name in findings.controls:
            continue
        audit = name[name.rfind(" (") :] if " (" in name else ""  # of several side by side each has controls of its own
        chance = next((c for c in (f"random{audit}", "random") if c in found), "")
        parts = {who: (look, found[who]) for who, look in ((PEOPLE, "people"), (chance, "level")) if who in found}
        across = "place in the row" if "1" in shares else "part of the row, from its start"
        names = (across, "share of the units chosen")
        drawn.append((name, Markup(pictures.bars({name: ("own", shares), **parts}, names))))
    return drawn


def _learning(findings: Findings) -> list[tuple[str, Markup]]:
    """For each explanation that has it: how its training went."""
    drawn = []
    for name, read in findings.learning.items():
        lines = {READ[what]: [(float(at), v) for at, v in enumerate(values, 1)] for what, values in read.items()}
        drawn.append((name, Markup(pictures.curves(lines, [READ["first"]], ("epoch", "share of validation rows")))))
    return drawn
