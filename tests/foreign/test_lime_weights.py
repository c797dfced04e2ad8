"""LIME's own objects: columns, words by their place, segments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from lime.lime_image import ImageExplanation
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer

import unmask
from foreign.samples import X, about, bright, linear, patches, polite, table, texts, three, three_classes
from unmask.errors import InputError
from unmask.foreign.lime_weights import is_lime, lime_weights


def one(weights: dict[int, list[tuple[int, float]]], **more: Any) -> Any:
    return SimpleNamespace(local_exp=weights, **more)


def test_columns_of_a_table() -> None:
    it = about(table())
    lime = LimeTabularExplainer(X, feature_names=list("abcd"), random_state=0, discretize_continuous=False)
    rows = [lime.explain_instance(row, linear, num_features=2, num_samples=200) for row in it.split.x.numpy()]
    found = lime_weights(it, rows)
    assert is_lime(rows)
    assert bool((found[:, :2].abs() > found[:, 2:].abs().amax(1, keepdim=True)).float().mean() > 0.9)
    signs = torch.where(it.target == 1, 1.0, -1.0)  # asked about class 1 only: turned where the other is predicted
    assert bool((torch.sign(found[:, 0]) == signs).all())
    assert bool((torch.sign(found[:, 1]) == -signs).all())


@pytest.mark.parametrize("bow", [True, False])
def test_words_by_their_place(bow: bool) -> None:
    it = about(texts(), polite)
    lime = LimeTextExplainer(random_state=0, bow=bow)
    rows = [lime.explain_instance(" ".join(row), polite, num_samples=100) for row in it.split.x]
    found = lime_weights(it, rows)
    for i, row in enumerate(it.split.x):
        if row.count("good") == 1:
            assert found[i].argmax() == row.index("good")
        if row == ["good", "and", "good", "again"] and bow:  # one weight for a word, wherever it stands
            assert found[i, 0] == found[i, 2] > found[i, 1].abs()
        if row == ["it", "is", "n't", "bad"]:  # LIME's "n" and "t" are both pieces of "n't"
            weights = {rows[i].domain_mapper.indexed_string.word(f): w for f, w in rows[i].local_exp[1]}
            sign = 1 if it.target[i] == 1 else -1
            assert float(found[i, 2]) == pytest.approx(sign * (weights["n"] + weights["t"]))


@pytest.mark.parametrize("bow", [True, False])
def test_a_text_of_one_word(bow: bool) -> None:
    """LIME tells the place of an only word as a decimal number."""
    it = about(unmask.dataset([["good"], ["bad"]] * 10, [1, 0] * 10), polite)
    lime = LimeTextExplainer(random_state=0, bow=bow)
    rows = [lime.explain_instance(" ".join(row), polite, num_samples=50) for row in it.split.x]
    signs = torch.where(it.target == 1, 1.0, -1.0)
    weights = torch.tensor([dict(row.local_exp[1])[0] for row in rows])
    torch.testing.assert_close(lime_weights(it, rows)[:, 0], signs * weights.float())


def test_segments_of_an_image() -> None:
    it = about(patches(), bright)
    real = ImageExplanation(np.zeros((4, 4, 3)), np.repeat([[0, 0, 1, 1]], 4, 0))
    real.local_exp = {0: [(0, 0.5), (1, -0.25)], 1: [(0, -0.5), (1, 0.25)]}
    found = lime_weights(it, [real] * len(it.split))
    sign = torch.where(it.target == 0, 1.0, -1.0)[:, None]
    torch.testing.assert_close(found, sign * torch.tensor([[2.0, -1.0, 2.0, -1.0]]))


def test_a_class_that_was_not_asked_about() -> None:
    it = about(three_classes(), three)
    rows = [one({(int(t) + 1) % 3: [(0, 1.0)]}) for t in it.target]
    with pytest.raises(
        InputError, match=r"row 0 of 'mine' explains class \d, the model predicts \d .* labels=range\(3\)"
    ):
        lime_weights(it, rows)


def test_other_rows_and_other_columns() -> None:
    it = about(table())
    with pytest.raises(InputError, match="are for 1 rows"):
        lime_weights(it, one({1: [(0, 1.0)]}))
    names = SimpleNamespace(feature_names=list("abcdefg"))
    with pytest.raises(InputError, match=r"must have shape \(30, 4\)"):
        lime_weights(it, [one({1: [(0, 1.0)]}, domain_mapper=names)] * 30)
    assert not is_lime([])
    assert not is_lime(np.zeros(3))
