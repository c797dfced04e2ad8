from __future__ import annotations

import re

from unmask.report.pictures import BOTTOM, HEIGHT, LONGEST, Point, bars, curves, front, heat


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
