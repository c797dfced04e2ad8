"""Data frames to numbers and back."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.data import frames
from unmask.errors import InputError


def example() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30, 41, 25, 60],
            "town": ["rome", None, "oslo", "rome"],
            "income": [1.5, math.nan, -2.0, 0.0],
            "member": [True, False, False, True],
            "size": pd.Categorical(["s", "l", "m", "s"], categories=["s", "m", "l", "xl"], ordered=True),
            "visits": pd.array([1, None, 3, 4], dtype="Int64"),
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
    assert layout.units == ("age", "town", "income", "member", "size", "visits")
    assert layout.owner == (0, 1, 1, 1, 2, 3, 4, 4, 4, 5)
    assert codec.names()[1:4] == ["town=oslo", "town=rome", "town=?"]
    assert codec.names()[6:9] == ["size=s", "size=m", "size=l"]


def test_missing_numbers_stay_missing() -> None:
    x = frames.learn(example()).encode(example())
    assert torch.isnan(x).sum() == 2
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
