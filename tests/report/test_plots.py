from __future__ import annotations

import math
import re

import pytest

from unmask.report.pictures import Point, curves, front
from unmask.report.plots import axis, dot, ruler
from unmask.report.wording import number


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.3, 0.93], (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ([-1.6, -0.2], (-2, -1.5, -1, -0.5, 0)),
        ([0.02], (0, 0.005, 0.01, 0.015, 0.02)),
        ([37.0], (0, 10, 20, 30, 40)),
        ([], (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ([math.nan, None, math.inf, 1.0], (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_ticks_are_round_and_hold_zero(values: list[float], ticks: tuple[float, ...]):
    assert axis(values).ticks == pytest.approx(ticks)


def test_dot_stands_at_its_share():
    svg = dot(axis([1.0]), 0.5, (0.25, 0.75), 0.0, "plain")
    assert 'cx="50.00%"' in svg
    assert 'x1="27.00%" x2="73.00%"' in svg
    assert '<line class="null" x1="4.00%"' in svg


def test_dot_without_a_value_is_empty():
    svg = dot(axis([]), math.nan, (math.nan, math.nan), None, "plain")
    assert "circle" not in svg
    assert "null" not in svg
    assert "nan" not in svg


def test_ruler_names_each_tick():
    assert re.findall(r">([−.\d]+)</text>", ruler(axis([-1.0, 1.0]))) == ["−1", "−0.5", "0", "0.5", "1"]


def point(name: str, x: float, y: float, look: str = "trust") -> Point:
    return Point(name, x, y, (x - 0.01, x + 0.01), (y - 0.01, y + 0.01), look)


def test_front_joins_what_nothing_beats():
    points = [point("a", 0.9, 0.2), point("b", 0.5, 0.8), point("c", 0.4, 0.1), point("r", 0.95, 0.95, "control")]
    svg = front(points, ("x", "y"))
    path = re.search(r'<polyline class="front" points="([^"]+)"', svg)
    assert path
    spots = dict(re.findall(r'<circle class="dot trust" cx="([\d.]+)" cy="([\d.]+)"', svg))
    corners = [corner.split(",") for corner in path[1].split()]
    on_line = [x for x, y in spots.items() if [x, y] in corners]
    assert len(spots) == 3
    assert len(on_line) == 2
    assert svg.count('<rect class="dot control"') == 1


def test_names_do_not_cover_each_other():
    points = [point(f"name-{i}", 0.5 + i / 200, 0.5 + i / 300) for i in range(5)]
    labels = re.findall(r'<text class="label" x="([\d.]+)" y="([\d.]+)"', front(points, ("x", "y")))
    boxes = [(float(x), float(y)) for x, y in labels]
    close = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if abs(a[0] - b[0]) < 44 and abs(a[1] - b[1]) < 11]
    assert close == []


def test_curves_tell_controls_apart_and_escape_names():
    svg = curves({"<b>": [(0, 0), (1, 1)], "random": [(0, 0), (1, 0.5)]}, ["random"], ("at", "insertion"))
    assert "<b>" not in svg
    assert 'class="curve c0"' in svg
    assert 'class="curve control"' in svg


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8712, "0.871"),
        (-0.5, "−0.500"),
        (0.0, "0.000"),
        (12.34, "12.3"),
        (12345.6, "12346"),
        (0.00012, "1.2e−4"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_are_written_alike(value: float | None, text: str):
    assert number(value) == text
