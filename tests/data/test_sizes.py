"""How many rows and words are taken."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from unmask.data import sizes
from unmask.errors import InputError


def test_default_scales_are_pinned() -> None:
    assert sizes.caps(None, "default", sizes.IMAGES) == (4000, 1000, 2000)
    assert sizes.caps(None, "default", sizes.REVIEWS) == (8000, 2000, 4000)
    assert sizes.caps(None, "paper", sizes.REVIEWS) == (None, None, None)
    assert sizes.caps(None, "quick", sizes.REVIEWS) == (1000, 250, 500)


def test_rows_win_over_scale() -> None:
    assert sizes.caps((5, 4, None), "quick", sizes.IMAGES) == (5, 4, None)
    assert sizes.caps("5/4/3", "default", sizes.IMAGES) == (5, 4, 3)


@pytest.mark.parametrize("rows", [100, (1, 2), "5/4", (0, 1, 1), ("a", 1, 1), (-3, 1, 1)])
def test_rows_that_are_no_counts(rows: Any) -> None:
    with pytest.raises(InputError, match="rows must be three counts"):
        sizes.caps(rows, "default", sizes.SMALL)


def test_unknown_scale() -> None:
    with pytest.raises(InputError, match="unknown scale 'huge'"):
        sizes.caps(None, "huge", sizes.SMALL)


def test_clip_keeps_the_named_end() -> None:
    row = list("abcde")
    assert sizes.clip(row, sizes.Cut(length=2)) == ["a", "b"]
    assert sizes.clip(row, sizes.Cut(length=2, truncate="tail")) == ["d", "e"]
    assert sizes.clip(row, sizes.Cut(length=None)) == row
    with pytest.raises(InputError, match="unknown truncate 'middle'"):
        sizes.Cut(truncate="middle")
    with pytest.raises(InputError, match="length must be at least 1 word"):
        sizes.Cut(length=0)


def test_held_out_is_a_fifth_and_disjoint() -> None:
    y = torch.arange(100) % 2
    train, validation = sizes.held_out(y, None, None, seed=0)
    assert (len(train), len(validation)) == (80, 20)
    assert not set(train.tolist()) & set(validation.tolist())


def test_too_few_rows_are_divided_in_the_ratio_asked_for() -> None:
    train, validation = sizes.held_out(torch.arange(100) % 2, 8000, 2000, seed=0)
    assert (len(train), len(validation)) == (80, 20)
    train, validation = sizes.held_out(torch.arange(100) % 2, 30, None, seed=0)
    assert (len(train), len(validation)) == (30, 20)
