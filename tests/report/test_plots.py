from __future__ import annotations

import math
import re

import pytest

from unmask.report.plots import axis, dot, ruler


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


def test_ticks_without_zero_stay_near_the_values():
    assert axis([0.83, 0.995], zero=False).ticks == pytest.approx((0.8, 0.85, 0.9, 0.95, 1))
    assert axis([0.4], zero=False).ticks[0] == pytest.approx(0.4)
    assert axis([], zero=False).ticks == axis([]).ticks


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
