from __future__ import annotations

import math
import re

import pytest

from unmask.report.plots import axis, dot, ruler, tick


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.3, 0.93], (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ([-1.6, -0.2], (-2, -1.5, -1, -0.5, 0)),
        ([0.02], (0, 0.005, 0.01, 0.015, 0.02)),
        ([37.0], (0, 10, 20, 30, 40)),
        ([1e-13], (0, 2e-14, 4e-14, 6e-14, 8e-14, 1e-13)),
        ([1e-12, 3e-13], (0, 2e-13, 4e-13, 6e-13, 8e-13, 1e-12)),
        ([-3e-20], (-3e-20, -2e-20, -1e-20, 0)),
        ([3e20], (0, 1e20, 2e20, 3e20)),
        ([], (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ([math.nan, None, math.inf, 1.0], (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_ticks_are_round_and_hold_zero(values: list[float], ticks: tuple[float, ...]):
    assert axis(values).ticks == pytest.approx(ticks, abs=0)


def test_ticks_without_zero_stay_near_the_values():
    assert axis([0.83, 0.995], zero=False).ticks == pytest.approx((0.8, 0.85, 0.9, 0.95, 1))
    assert axis([0.4], zero=False).ticks[0] == pytest.approx(0.4)
    assert axis([], zero=False).ticks == axis([]).ticks


@pytest.mark.parametrize(
    "values",
    [[1e-13], [1e-12, 3e-13], [2.5e-7], [5e-324], [1e-320, 1e-310], [-7e-15, 2e-16], [1e17], [0.3], [0.4, 0.4 + 1e-16]],
)
@pytest.mark.parametrize("zero", [True, False])
def test_ticks_of_tiny_and_of_close_values_differ_and_so_do_their_labels(values: list[float], zero: bool):
    scale = axis(values, zero)
    assert list(scale.ticks) == sorted(set(scale.ticks))
    assert all(-1e-9 <= scale.share(v) <= 1 + 1e-9 for v in values)
    labels = [tick(t) for t in scale.ticks]
    assert len(set(labels)) == len(labels) >= 3
    assert max(map(len, labels)) <= 9


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


def test_ruler_leaves_out_every_second_name_where_they_would_touch():
    assert re.findall(r">([^<>]+)</text>", ruler(axis([1e-13]))) == ["0", "4e−14", "8e−14"]
    assert re.findall(r">([^<>]+)</text>", ruler(axis([4e-13]))) == ["0", "2e−13", "4e−13"]


def test_ruler_names_each_tick():
    assert re.findall(r">([−.\d]+)</text>", ruler(axis([-1.0, 1.0]))) == ["−1", "−0.5", "0", "0.5", "1"]
