"""Kinds inferred from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.data import rows
from unmask.errors import InputError


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (np.zeros((2, 3)), "table"),
        (torch.zeros(2, 3), "table"),
        ([[1, 2], [3, 4]], "table"),
        (pd.DataFrame({"a": [1]}), "table"),
        (np.zeros((2, 3, 3)), "image"),
        (torch.zeros(2, 1, 3, 3), "image"),
        (["a text", "another"], "words"),
        ([["a", "text"], ["b"]], "words"),
        ([[["a"], ["b"]]], "sentences"),
        ([[[0.1, 0.2], [0.3, 0.4]]], "image"),
    ],
)
def test_kind_is_inferred(x: Any, kind: str) -> None:
    assert rows.infer(x) == kind


@pytest.mark.parametrize("x", [[["a sentence .", "another ."]], [object()], [[]], np.zeros(3)])
def test_kind_is_asked_for(x: Any) -> None:
    with pytest.raises(InputError, match="say kind="):
        rows.infer(x)


def test_channels_last_are_moved() -> None:
    x = torch.rand(2, 5, 6, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rows.images(x), x.permute(0, 3, 1, 2))


def test_the_caller_keeps_their_array() -> None:
    x = np.zeros((2, 2), dtype=np.float32)
    rows.table(x)[0, 0] = 1
    assert x[0, 0] == 0
