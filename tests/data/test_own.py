"""Your own data, right and wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from unmask.data import dataset
from unmask.errors import InputError, UnmaskWarning
from unmask.models import bind, wrap

Y = [0, 1] * 10
TABLE = np.arange(60.0).reshape(20, 3)


def test_array_is_a_table_with_named_columns() -> None:
    made = dataset(TABLE, Y)
    assert made.kind == "table"
    assert made.units == ("x1", "x2", "x3")
    assert (len(made.train), len(made.validation), len(made.test)) == (12, 4, 4)
    rows = torch.cat([made.train.x, made.validation.x, made.test.x])
    assert sorted(rows[:, 0].tolist()) == TABLE[:, 0].tolist()
    for part in (made.train, made.validation, made.test):
        assert (part.x[:, 0] % 2).tolist() == part.y.tolist()  # each row kept its label


def test_values_are_kept_missing_ones_too() -> None:
    x = TABLE.copy()
    x[3, 1] = np.nan
    made = dataset(x, Y, split={"train": [3, 4], "validation": [1], "test": [2]})
    assert torch.isnan(made.train.x).tolist() == [[False, True, False], [False] * 3]
    assert made.notes["split"] == "given"
    pixels = np.full((20, 4, 4), 255, dtype=np.uint8)
    assert float(dataset(pixels, Y).train.x.max()) == 255


@pytest.mark.parametrize("shape", [(20, 8, 6), (20, 3, 8, 6), (20, 8, 6, 3)])
def test_images_of_three_shapes(shape: tuple[int, ...]) -> None:
    x = torch.arange(float(np.prod(shape))).view(shape)
    made = dataset(x, Y, patch=2, split={"train": [0, 1], "validation": [2], "test": [3]})
    assert made.kind == "image"
    assert made.layout.shape == (1 if len(shape) == 3 else 3, 8, 6)
    assert made.layout.d == 12
    if shape[-1] == 3:
        assert torch.equal(made.train.x[0, 2], x[0, :, :, 2])


def test_frame_with_categories() -> None:
    frame = pd.DataFrame({"age": range(20), "town": ["a", "b"] * 10, "sex": ["m", "f"] * 10})
    made = dataset(frame, ["no", "yes"] * 10)
    assert made.units == ("age", "town", "sex")
    assert made.groups == ((0,), (1, 2), (3, 4))
    assert made.classes == ("no", "yes")
    assert made.frames is not None
    assert made.frames.decode(made.train.x)["town"].tolist() == ["ab"[y] for y in made.train.y.tolist()]
    grouped = dataset(frame, Y, groups={"person": ["age", "sex"], "place": ["town"]})
    assert grouped.groups == ((0, 3, 4), (1, 2))


def test_frame_of_an_array() -> None:
    made = dataset(pd.DataFrame(TABLE), Y)
    assert made.units == ("0", "1", "2")
    assert made.frames is not None
    assert made.frames.decode(made.train.x)[2].tolist() == made.train.x[:, 2].tolist()


def test_split_by_masks_of_the_rows() -> None:
    place = np.arange(20)
    masks = {"train": place < 12, "validation": (place >= 12) & (place < 15), "test": (place >= 15).tolist()}
    made = dataset(TABLE, Y, split=masks)
    assert made.train.x.tolist() == TABLE[:12].tolist()
    assert made.validation.x.tolist() == TABLE[12:15].tolist()
    assert made.test.x.tolist() == TABLE[15:].tolist()


def test_array_with_groups_and_names() -> None:
    made = dataset(TABLE, Y, groups={"pair": [0, 2], "single": [1]})
    assert made.units == ("pair", "single")
    assert made.groups == ((0, 2), (1,))
    assert dataset(TABLE, Y, units=["a", "b", "c"]).units == ("a", "b", "c")


def test_series_are_tables_whose_units_own_all_steps() -> None:
    x = np.arange(20.0 * 3 * 4).reshape(20, 3, 4)
    given = {"train": [0, 1], "validation": [2], "test": [3]}
    made = dataset(x, Y, kind="table", groups={"pair": [0, "x3"], "rest": [1, 3]}, split=given)
    assert made.units == ("pair", "rest")
    assert made.groups == ((0, 2, 4, 6, 8, 10), (1, 3, 5, 7, 9, 11))
    assert made.train.x.view(2, 3, 4).tolist() == x[:2].tolist()
    named = dataset(torch.tensor(x), Y, kind="table", units=["a", "b", "c", "d"])
    assert named.units == ("a", "b", "c", "d")
    assert named.groups[0] == (0, 4, 8)
    assert dataset(x, Y).kind == "image"  # three dimensions alone are pictures


def test_texts() -> None:
    made = dataset(["Good film!", "It's bad."] * 10, Y)
    assert made.kind == "words"
    assert sorted(set(map(tuple, made.train.x))) == [("good", "film", "!"), ("it", "'s", "bad", ".")]
    given = dataset([["Good", "film"], ["bad"]] * 10, Y)
    assert given.kind == "words"
    assert ["Good", "film"] in given.train.x
    assert dataset(pd.Series(["a b", "c"] * 10), Y).kind == "words"


def test_what_a_model_of_texts_gets() -> None:
    """Words joined by blanks: strings in lower case and cut, lists of words as they were."""
    seen: list[str] = []

    def model(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.tile([0.4, 0.6], (len(texts), 1))

    strings, lists = dataset(["Don't<br />go, A-B &amp; C"] * 20, Y), dataset([["Don't", "GO,", "A-B"]] * 20, Y)
    for data in (strings, lists):
        bind(wrap(model, takes="text"), data)(data.test.x)
    assert set(seen) == {"do n't go , a - b & c", "Don't GO, A-B"}


def test_sentences() -> None:
    made = dataset([["Good film.", "I liked it."], ["Bad."]] * 10, Y, kind="sentences")
    assert [["bad", "."]] in made.train.x
    nested = dataset([[["a", "b"], ["c"]], [["d"]]] * 10, Y)
    assert nested.kind == "sentences"


def test_known_relevance_goes_along() -> None:
    relevant = np.zeros((20, 3), dtype=bool)
    relevant[:, 1] = True
    made = dataset(TABLE, Y, relevant=relevant)
    assert made.test.relevant is not None
    assert made.test.relevant[:, 1].all()
    texts = dataset([["a"], ["b", "c"]] * 10, Y, relevant=[[1, 0], [0, 1]] * 10)
    assert texts.train.relevant is not None
    assert texts.train.relevant.shape == texts.train.valid.shape


def test_whole_decimals_are_row_numbers() -> None:
    made = dataset(TABLE, Y, split={"train": [0.0, 1.0], "validation": [2], "test": [3]})
    assert made.train.x.tolist() == TABLE[:2].tolist()


def test_a_regression_target_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    ages = np.repeat(np.arange(18, 78), 3)
    x = np.zeros((len(ages), 2))
    with pytest.warns(UnmaskWarning, match="60 different whole numbers, .* looks like a regression target"):
        dataset(x, ages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset(x, ages, classes=[str(age) for age in range(18, 78)])  # they were named: they are classes


def test_same_seed_same_split() -> None:
    assert torch.equal(dataset(TABLE, Y, seed=1).train.x, dataset(TABLE, Y, seed=1).train.x)
    assert not torch.equal(dataset(TABLE, Y, seed=1).train.x, dataset(TABLE, Y, seed=2).train.x)


@pytest.mark.parametrize(
    ("x", "y", "options", "words"),
    [
        (TABLE, Y[:-1], {}, "same number of rows, got 20 and 19"),
        ([], [], {}, "the data are empty"),
        (TABLE, [0] * 20, {}, "at least two classes, got only 0"),
        (TABLE, np.linspace(0, 1, 20), {}, "regression is not supported"),
        (TABLE, [*Y[:-1], float("nan")], {}, r"y is missing \(NaN\) in row 19"),
        (["word"] * 4 + ["  "] + ["word"] * 15, Y, {}, "row 4 is empty"),
        ([["a"]] * 19 + [[]], Y, {"kind": "sentences"}, "row 19 is empty"),
        (["one string"] * 20, Y, {"kind": "sentences"}, "row 0 is one string"),
        ([["a b"]] * 20, Y, {}, "cannot tell what these rows are; say kind="),
        (TABLE, Y, {"kind": "tables"}, "unknown kind 'tables'; did you mean 'table'"),
        (np.zeros(20), Y, {"kind": "table"}, r"two dimensions.*or three \(rows, steps, features\), got shape \(20,\)"),
        (np.zeros((20, 2)), Y, {"kind": "image"}, r"images must be \(n, height, width\).*got shape \(20, 2\)"),
        (np.zeros((20, 5, 5, 5)), Y, {}, "1, 3 or 4 channels"),
        ([["a", 1.0]] * 20, Y, {"kind": "table"}, "columns of words need a data frame"),
        ([3] * 20, Y, {"kind": "words"}, "row 0 holds int"),
        (TABLE, [0] * 18 + [1] * 2, {}, "at least 3 rows to be split, but '1' has 2"),
        (TABLE, Y, {"groups": {"a": [0, 1]}}, "groups must cover every column, but 'x3'"),
        (np.zeros((20, 3, 2)), Y, {"kind": "table", "groups": {"a": [0, 5]}}, "names feature 5, expected.*number 0..1"),
        (np.zeros((20, 3, 2)), Y, {"kind": "table", "groups": {"a": [0]}}, "cover every feature, but 'x2'"),
        (np.zeros((20, 3, 0)), Y, {"kind": "table"}, r"series must be \(rows, steps, features\) with at least one"),
        (np.zeros((20, 2, 2, 2)), Y, {"kind": "table"}, r"or three \(rows, steps, features\), got shape"),
        (["a"] * 20, Y, {"groups": {"a": [0]}}, "groups are sets of columns"),
        (TABLE, Y, {"patch": 2}, "patch is a number of pixels"),
        (TABLE, Y, {"units": ["a"]}, r"name each unit once \(here 3\), got 1 names"),
        (TABLE, Y, {"relevant": np.ones((20, 2))}, r"relevant must be \(20, 3\).*got \(20, 2\)"),
        (TABLE, Y, {"split": {"train": [0], "test": [1]}}, "split must map train, validation and test"),
        (TABLE, Y, {"split": {"train": [0], "validation": [0], "test": [1]}}, "one split only"),
        (
            TABLE,
            Y,
            {"split": {"train": [True], "validation": [0], "test": [1]}},
            "map train to row numbers, or to one b",
        ),
        (TABLE, Y, {"split": {"train": ["a"], "validation": [0], "test": [1]}}, "map train to row numbers, got <U1"),
        (TABLE, Y, {"split": {"train": [0], "validation": [20], "test": [1]}}, r"must be 0..19, got 0..20"),
        (TABLE, Y, {"split": {"train": [0], "validation": [], "test": [1]}}, "at least one row number"),
        (
            TABLE,
            Y,
            {"split": {"train": [0, 1.7], "validation": [2], "test": [3]}},
            r"row numbers, got 1\.7; count rows",
        ),
        (
            TABLE,
            Y,
            {"split": {"train": [0], "validation": [np.nan], "test": [3]}},
            "validation to row numbers, got nan",
        ),
        (3, Y, {}, "rows and their labels, got int and list"),
        (sparse.csr_matrix(TABLE), Y, {}, r"x is a sparse matrix, .*; give x\.toarray\(\)"),
        (sparse.coo_array(TABLE), Y, {"kind": "table"}, "x is a sparse matrix"),
        (TABLE + 1j, Y, {}, "a table must be numbers, got complex128; turn them into real numbers"),
        (torch.zeros(20, 2, dtype=torch.complex64), Y, {}, "a table must be numbers, got torch.complex64"),
        (np.zeros((20, 2), "M8[D]"), Y, {}, "a table must be numbers, got datetime64"),
    ],
)
def test_mistakes_are_named(x: Any, y: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        dataset(x, y, **options)
