"""Means over seeds, their intervals, and which way a number is better."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from unmask.reproduce.summing import base, better, ends, summary

FOUND = [[10.0, 0.0, 20.0], [99.0, 98.0, 100.0]]


def test_intervals_over_seeds_are_those_of_t() -> None:
    mean, low, high = summary(FOUND)
    assert mean == 54.5
    expected = stats.t.interval(0.95, 1, loc=54.5, scale=stats.sem([10.0, 99.0]))
    assert (low, high) == pytest.approx(expected, rel=1e-4)


def test_one_seed_keeps_its_own_interval_and_none_has_none() -> None:
    assert summary(FOUND[:1]) == (10.0, 0.0, 20.0)
    assert summary([]) == (None, None, None)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("f1", (0.0, 100.0)), ("jsd-attacked", (0.0, math.inf)), ("tvd", (0.0, math.inf)), ("sen", (-math.inf, math.inf))],
)
def test_intervals_end_where_values_end(metric: str, expected: tuple[float, float]) -> None:
    assert ends(metric) == expected
    free, cut = summary(FOUND), summary(FOUND, ends(metric))
    assert cut[1:] == (max(free[1] or 0.0, expected[0]), min(free[2] or 0.0, expected[1]))


@pytest.mark.parametrize(
    ("metric", "way"),
    [
        ("fs-m", "higher"),
        ("overlap", "higher"),
        ("f1-original", "higher"),
        ("fs-m@class=3", "higher"),
        ("jsd", "lower"),
        ("tvd-batch-sum", "lower"),
        ("tvd-bce", "none"),
        ("constants", "lower"),
        ("entropy", "none"),
        ("x1", "none"),
        ("fu-m", "lower"),
        ("locked", "lower"),
    ],
)
def test_every_number_has_a_direction(metric: str, way: str) -> None:
    assert better(base(metric)) == way
