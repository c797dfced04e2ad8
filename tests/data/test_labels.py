"""Targets of all sorts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.data.labels import labels, tell_measured
from unmask.errors import InputError


@pytest.mark.parametrize(
    ("y", "codes", "names"),
    [
        ([2, 1, 2], [1, 0, 1], ("1", "2")),
        (["b", "a", "b"], [1, 0, 1], ("a", "b")),
        ([True, False], [1, 0], ("False", "True")),
        (np.array([1.0, 0.0]), [1, 0], ("0", "1")),
        (torch.tensor([10, 9]), [1, 0], ("9", "10")),
        (pd.Series(["x", "y"]), [0, 1], ("x", "y")),
    ],
)
def test_sorted_values_are_the_classes(y: Any, codes: list[int], names: tuple[str, ...]) -> None:
    got, classes = labels(y)
    assert got.tolist() == codes
    assert classes == names


def test_given_classes_keep_their_order() -> None:
    assert labels(["yes", "no"], ["yes", "no"])[0].tolist() == [0, 1]
    assert labels([0, 2], ["low", "middle", "high"])[0].tolist() == [0, 2]
    assert labels([3, 8, 3], ["3", "8"])[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("y", "classes", "words"),
    [
        ([0.1, 0.5, 0.7], None, "regression is not supported"),
        (list(map(float, range(50))), None, "got 50 different decimal numbers"),
        ([1, 1], None, "at least two classes, got only 1"),
        ([1.0, float("nan")], None, r"y is missing \(NaN\) in row 1"),
        (["a", None], None, "missing"),
        (pd.Series(["a", pd.NA], dtype="string"), None, r"y is missing \(NaN\) in row 1"),
        (pd.Series([True, pd.NA], dtype="boolean"), None, r"y is missing \(NaN\) in row 1"),
        ([[1], [0]], None, r"one label for each row, \(n,\), got shape \(2, 1\)"),
        ([0, 5], ["a", "b"], "labels must be 0..1"),
        (["a", "c"], ["a", "b"], "unknown class 'c'"),
    ],
)
def test_what_is_no_class_is_refused(y: Any, classes: list[str] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        labels(y, classes)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (range(50), False),
        (range(51), True),
        (range(0, 42, 2), True),  # 21, with gaps between them
        (range(0, 40, 2), False),
        ([f"c{i}" for i in range(100)], False),
    ],
)
def test_classes_that_look_like_measurements(names: Any, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tell_measured([str(name) for name in names])
    assert [str(one.message).endswith("cut it into classes first") for one in heard] == [True] * told
