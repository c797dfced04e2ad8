"""A model and its data: the same classes in the same order, rows as the model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import unmask
from unmask.errors import InputError
from unmask.models import bind, wrap

X = np.random.default_rng(0).normal(size=(90, 2)).astype("float32")
PLACE = np.digitize(X[:, 0], [-0.5, 0.5])


def right(fitted: Any, given: Any) -> float:
    """How often the model says what the labels of these names say."""
    data = unmask.dataset(
        X, np.asarray(given)[PLACE], split={"train": range(60), "validation": range(60, 75), "test": range(75, 90)}
    )
    said = bind(wrap(LogisticRegression(C=100).fit(X, np.asarray(fitted)[PLACE])), data)(data.test.x).argmax(1)
    return float((said == data.test.y).double().mean())


@pytest.mark.parametrize(
    ("fitted", "given"),
    [
        ([2.0, 3.0, 10.0], ["2", "3", "10"]),  # the data's are in the order of letters: 10, 2, 3
        ([0, 1, 2], ["0", "1", "2"]),
        ([0, 1, 2], ["1", "2", "3"]),  # counted from another end
        (["Low", "mid", "HIGH"], ["low", "mid", "high"]),
    ],
)
def test_the_same_classes_are_found_however_they_are_written(fitted: Any, given: Any) -> None:
    assert right(fitted, given) > 0.8


@pytest.mark.parametrize(("fitted", "given"), [([0, 1, 2], ["0", "1", "5"]), (["a", "b", "c"], ["a", "b", "d"])])
def test_classes_that_are_only_partly_the_same_are_refused(fitted: Any, given: Any) -> None:
    with pytest.raises(InputError, match="give both the same names"):
        right(fitted, given)


def test_groups_of_an_array_are_no_frame() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LogisticRegression().fit(frame, PLACE)
    data = unmask.dataset(X, PLACE, groups={"both": [0, 1]})
    with pytest.raises(InputError, match="2 columns have no names, only 1 groups; give the data as a data frame"):
        bind(model, data)


def test_answers_may_be_frames_and_what_holds_no_numbers_is_named() -> None:
    data = unmask.dataset(X, PLACE)

    def framed(rows: Any) -> Any:
        return pd.DataFrame(np.full((len(rows), 3), 1 / 3))

    def named(rows: Any) -> Any:
        return np.array([["a", "b", "c"]] * len(rows))

    assert bind(wrap(framed), data)(data.test.x).shape == (len(data.test), 3)
    with pytest.raises(InputError, match=r"of numbers, got ndarray of <U1; wrap"):
        bind(wrap(named), data)(data.test.x)
    with pytest.raises(InputError, match=r"must answer \d+ rows with shape \(\d+, 3\), got \(\d+,\)$"):
        bind(wrap(lambda rows: np.zeros(len(rows))), data)(data.test.x)
