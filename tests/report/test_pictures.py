from __future__ import annotations

import math
import re
from importlib import resources

import pytest

from unmask.report.pictures import BOTTOM, COLOURS, HEIGHT, LONGEST, Point, bars, curves, front, heat


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


def drawn(part: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Lines and marks of a picture, or of its legend, in their order: each a class and its dashes or its outline."""
    lines = re.findall(r'class="curve (\w+)" stroke-dasharray="([^"]+)"', part)
    return lines, re.findall(r'class="mark (\w+)" d="M[\d.]+ [\d.]+([^M"]+)', part)


def test_every_line_is_told_apart_without_its_colour():
    controls = [f"{name} ({when})" for when in ("before", "after") for name in ("random", "first-k", "last-k")]
    names = [*(f"explanation-{i}" for i in range(20)), *controls]
    lines = {name: [(0.0, 0.0), (0.5, i / 26), (1.0, 1.0)] for i, name in enumerate(names)}
    picture, _, legend = curves(lines, controls, ("at", "insertion")).partition("</svg>")
    assert drawn(picture) == drawn(legend)
    looks = set()
    for entry in legend.split("<li>")[1:]:
        ((colour, dashes),), marks = drawn(entry)
        looks.add((dashes, marks[0][1] if marks else "", colour == "control"))  # marks of controls are hollow
        assert colour != "control" or dashes != "none"
    assert len(looks) == len(names)


def test_marks_stand_on_the_points_of_their_line_and_show_where_lines_run_together():
    line = [(i / 10, i / 20) for i in range(11)]
    lines = {"a": line, "b": line, "c": line, "d": [(0.0, math.nan), (1.0, 0.5)]}
    svg = curves(lines, [], ("at", "insertion")).partition("</svg>")[0]
    corners = re.findall(r'<polyline class="curve (\w+)"[^>]* points="([^"]+)"', svg)
    points = {look: {tuple(corner.split(",")) for corner in path.split()} for look, path in corners}
    found = re.findall(r'<path class="mark (\w+)" d="([^"]+)"', svg)
    marks = {look: set(re.findall(r"M([\d.]+) ([\d.]+)", path)) for look, path in found}
    assert all(marks[look] <= points[look] for look in points)
    assert [len(marks[look]) for look in ("c0", "c1", "c2", "c3")] == [4, 4, 3, 1]
    assert marks["c0"] | marks["c1"] | marks["c2"] == points["c0"]
    assert svg.rindex("<polyline") < svg.index('<path class="mark')  # no line covers a mark


def test_curves_are_told_in_words_with_their_ends():
    lines = {"a": [(i / 20, i / 40) for i in range(21)], '"b"': [(1.0, -0.25), (0.0, 0.0), (0.5, math.nan)], "c": []}
    label = re.search(r'aria-label="([^"]+)"', curves(lines, [], ("share", "insertion")))
    assert label
    assert label[1] == (
        "insertion over share. a: 0.000 at 0, 0.100 at 0.2, 0.200 at 0.4, 0.300 at 0.6, 0.400 at 0.8, 0.500 at 1; "
        "&quot;b&quot;: 0.000 at 0, −0.250 at 1; c: –"
    )


def light(colour: str) -> float:
    """Relative luminance, as WCAG has it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_lines_stand_out_from_what_is_behind_them(theme: int):
    style = resources.files("unmask.report").joinpath("style.css").read_text("utf-8")
    colours = dict(re.findall(r"--(\w+): (#\w{6});", re.findall(r":root \{(.*?)\}", style, re.DOTALL)[theme]))
    back = light(colours["card"])
    for name in ("soft", "accent", *(f"c{i}" for i in range(COLOURS))):
        dark, bright = sorted((back, light(colours[name])))
        assert (bright + 0.05) / (dark + 0.05) >= 3, name


def test_a_map_has_a_cell_with_its_number_for_each_word_and_line():
    lines = [("as it is", (0.5, 0.3, 0.2)), ("noise 1", (0.125, 0.25, 0.625))]
    svg = heat(["good", "<b>", "x" * 40], lines, "a <map>")
    assert 'aria-label="a &lt;map&gt;"' in svg
    assert "<b>" not in svg
    assert "x" * LONGEST not in svg.partition(">")[2]
    cells = re.findall(r'<rect class="heat" x="(\d+)" y="(\d+)".*?fill-opacity="([\d.]+)"/><text [^>]+>([\d.]+)<', svg)
    assert [number for *_, number in cells] == ["0.50", "0.30", "0.20", "0.12", "0.25", "0.62"]
    assert len({x for x, *_ in cells}) == 3
    assert len({y for _, y, *_ in cells}) == 2
    depth = [float(depth) for _, _, depth, _ in cells]
    assert max(depth) == depth[5]
    assert depth[0] > depth[1] > depth[2]


def test_bars_are_as_high_as_their_shares():
    shares = {"a": ("own", {"1": 0.5, "2": 0.25}), "people": ("people", {"1": 0.0, "2": 1.0})}
    svg = bars(shares, ("place", "share"))
    found = re.findall(r'<rect class="bar (\w+)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', svg)
    high = {look: [float(h) for which, _, _, h in found[:4] if which == look] for look in ("own", "people")}
    assert high["own"][0] == 2 * high["own"][1] == high["people"][1] / 2
    assert high["people"][0] == 0
    assert all(abs(float(y) + float(h) - (HEIGHT - BOTTOM)) < 0.1 for _, _, y, h in found[:4])
    places = [float(x) for _, x, _, _ in found[:4]]
    assert places[0] < places[2] < places[1] < places[3]  # beside each other, place by place


def test_names_of_crowded_spots_do_not_cover_each_other_and_lead_back_to_theirs():
    points = [point(name, 0.95 + 0.002 * i, 0.96 - 0.002 * i) for i, name in enumerate(("integrated-gradients", "l2x"))]
    points += [point(f"explanation-{i}", 0.96, 0.95) for i in range(4)]
    points += [point("far", 0.1, 0.2)]  # which makes the others crowded
    svg = front(points, ("x", "y"))
    labels = re.findall(r'<text class="label" x="([\d.]+)" y="([\d.]+)">([^<]+)<', svg)
    boxes = [(float(x), float(y), float(x) + 7.4 * len(name)) for x, y, name in labels]
    assert len(boxes) == len(points)
    for i, (x, y, end) in enumerate(boxes):
        for other_x, other_y, other_end in boxes[:i]:
            assert abs(y - other_y) >= 16 or x >= other_end or other_x >= end
    assert svg.count('<line class="leader"') >= 2
    assert 'class="leader"' not in front([point("alone", 0.5, 0.5)], ("x", "y"))
