"""Data frames to numbers and back."""

from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.data import frames
from unmask.errors import InputError, UnmaskWarning


def example() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30, 41, 25, 60],
            "town": ["rome", None, "oslo", "rome"],
            "income": [1.5, math.nan, -2.0, 0.0],
            "member": [True, False, False, True],
            "size": pd.Categorical(["s", "l", "m", "s"], categories=["s", "m", "l", "xl"], ordered=True),
            "visits": pd.array([1, None, 3, 4], dtype="Int64"),
            "asked": pd.array([True, None, False, True], dtype="boolean"),
        }
    )


def test_round_trip_is_exact() -> None:
    frame = example()
    codec = frames.learn(frame)
    back = codec.decode(codec.encode(frame))
    pd.testing.assert_frame_equal(back, frame)


def test_layout_has_one_unit_for_each_variable() -> None:
    codec = frames.learn(example())
    layout = codec.layout()
    assert layout.units == ("age", "town", "income", "member", "size", "visits", "asked")
    assert layout.owner == (0, 1, 1, 1, 2, 3, 4, 4, 4, 5, 6)
    assert codec.names()[1:4] == ["town=oslo", "town=rome", "town=?"]
    assert codec.names()[6:9] == ["size=s", "size=m", "size=l"]


def test_missing_numbers_stay_missing() -> None:
    x = frames.learn(example()).encode(example())
    assert torch.isnan(x).sum() == 3
    assert torch.isnan(x[1, 4])


def test_decode_takes_the_largest_of_soft_values() -> None:
    codec = frames.learn(pd.DataFrame({"town": ["a", "b", "c"], "n": [1, 2, 3]}))
    back = codec.decode(torch.tensor([[0.2, 0.5, 0.3, 2.4]]))
    assert back["town"].tolist() == ["b"]
    assert back["n"].tolist() == [2]
    assert back["n"].dtype == np.int64


def test_new_category_and_dates_are_refused() -> None:
    codec = frames.learn(pd.DataFrame({"town": ["a", "b"]}))
    with pytest.raises(InputError, match="column 'town' has the new value 'z'"):
        codec.encode(pd.DataFrame({"town": ["a", "z"]}))
    with pytest.raises(InputError, match="column 'when' holds dates"):
        frames.learn(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([datetime.date(2020, 1, 1), None], "dates or times"),
        ([datetime.time(12), datetime.time(13)], "dates or times"),
        (pd.Series(pd.to_datetime(["2020-01-01"])).astype(object), "dates or times"),
        (pd.Series(pd.to_timedelta(["1 day"])), "dates or times"),
        (pd.period_range("2020-01", periods=2, freq="M"), "dates or times"),
        ([1 + 2j, 3 - 1j], "complex numbers"),
        (pd.Series([1j], dtype=object), "complex numbers"),
        ([Decimal("1.5"), Decimal("2.5")], "Decimal objects"),
    ],
)
def test_what_is_neither_number_nor_category_is_refused(values: Any, said: str) -> None:
    with pytest.raises(InputError, match=rf"column 'a' holds {said}; turn it into plain numbers or leave it out"):
        frames.learn(pd.DataFrame({"a": values}))


def test_names_that_are_numbers_are_shown_as_words() -> None:
    frame = pd.DataFrame({0: [1.5, 2.5], 7: ["a", "b"]})
    codec = frames.learn(frame)
    assert codec.layout().units == ("0", "7")
    assert codec.names() == ["0", "7=a", "7=b"]
    pd.testing.assert_frame_equal(codec.decode(codec.encode(frame)), frame)
    turned = codec.encode(frame[[7, 0]])  # columns are found by their names, whatever their order
    assert torch.equal(turned, codec.encode(frame))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "a"], "columns must have different names, but more than one is 'a'; rename them"),
        ([1, "1"], "more than one is '1'"),
        (pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), r"one name, got the levels \('a', 'b'\); join them"),
    ],
)
def test_names_of_several_columns_or_levels_are_refused(names: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        frames.learn(pd.DataFrame(np.zeros((2, 2)), columns=names))


@pytest.mark.parametrize("value", [[1, 2], {"z": 1}, np.zeros(2)])
def test_values_that_are_no_single_ones_are_refused(value: Any) -> None:
    frame = pd.DataFrame({"a": ["word", value, value]})
    kind = type(value).__name__
    with pytest.raises(InputError, match=rf"column 'a' must hold one number or word in each row, got {kind}; make"):
        frames.learn(frame)


def test_lists_of_arrow_are_refused() -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow, of the extra parquet, is not installed")
    lists = pd.array([[1], [2]], dtype=pd.ArrowDtype(arrow.list_(arrow.int64())))
    with pytest.raises(InputError, match="column 'a' must hold one number or word in each row, got list"):
        frames.learn(pd.DataFrame({"a": lists}))


def test_too_many_categories_are_refused() -> None:
    words = [f"c{i}" for i in range(frames.MOST + 1)]
    assert frames.learn(pd.DataFrame({"id": words[:-1]})).layout().shape == (frames.MOST,)
    with pytest.raises(InputError, match=r"'id' holds 501 different words, at most 500 can .*drop it \(--drop id\)"):
        frames.learn(pd.DataFrame({"id": words}))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "float64"])
def test_whole_numbers_that_merge_are_told(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    times = pd.DataFrame({"when": pd.Series(range(1_700_000_000, 1_700_000_300), dtype=dtype)})
    with pytest.warns(UnmaskWarning, match=r"'when' holds 300 different whole numbers, of which float32 tells 3 "):
        frames.learn(times).encode(times)


@pytest.mark.parametrize(
    "values", [[0, 2**24], [-(2**24), 5], [2**30, 2**31], [2.0**24 + 0.25, 2.0**24 + 0.5], [math.nan, math.nan]]
)
def test_other_numbers_need_no_warning(values: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    frame = pd.DataFrame({"a": values})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames.learn(frame).encode(frame)
