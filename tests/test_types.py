"""The values that flow: layouts and their adjoint, splits, explanations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from nets.samples import ARRAYS, GROUPED, PLAIN, REVIEWS, SETS, TEXTS, dataset, grid, values
from unmask.data.layouts import image_layout
from unmask.drawing import Drawing
from unmask.errors import InputError
from unmask.seeds import generator
from unmask.types import Explanation, Layout, Split, rows_of


def explanation(name: str = "table", **changes: Any) -> Explanation:
    data = SETS[name]()
    valid = data.train.valid
    given: dict[str, Any] = {
        "scores": torch.randn(valid.shape, generator=generator(0)),
        "kept": (torch.rand(valid.shape, generator=generator(1)) < 0.5) & valid,
        "valid": valid,
        "target": torch.arange(len(valid)) % 2,
        "origin": {"method": "made"},
        "x": data.train.x,
        "layout": data.layout,
        "classes": data.classes,
    }
    return Explanation(**{**given, **changes})


# --- layouts ----------------------------------------------------------------------------------------------------------


def test_where_units_are_pixels_spreading_gives_them_their_shape_and_no_more() -> None:
    kept = torch.arange(12.0).view(2, 6)[:, [5, 0, 3, 1, 4, 2]]
    layout = image_layout((1, 2, 3))
    assert layout.spread(kept).tolist() == kept.view(2, 1, 2, 3).tolist()
    turned = replace(layout, owner=tuple(reversed(layout.owner)))
    assert turned.spread(kept).tolist() == kept.flip(1).view(2, 1, 2, 3).tolist()


@pytest.mark.parametrize("name", ARRAYS)
def test_gathering_is_the_adjoint_of_spreading(name: str) -> None:
    layout = SETS[name]().layout
    a = torch.randn(5, layout.d, generator=generator(0), dtype=torch.float64)
    b = torch.randn(5, *layout.shape, generator=generator(1), dtype=torch.float64)
    left = (layout.spread(a) * b).flatten(1).sum(1)
    torch.testing.assert_close(left, (a * layout.gather(b)).sum(1))


def test_columns_know_their_units() -> None:
    assert GROUPED.spread(torch.tensor([[1, 2, 3]])).tolist() == [[1, 2, 1, 3, 2]]
    assert GROUPED.gather(torch.tensor([[1.0, 10.0, 100.0, 1000.0, 10000.0]])).tolist() == [[101.0, 10010.0, 1000.0]]


def test_pixels_know_their_patches() -> None:
    layout = grid(2, 4, 2)
    spread = layout.spread(torch.tensor([[1, 2, 3, 4]]))
    assert spread.shape == (1, 1, 4, 4)
    assert spread[0, 0].tolist() == [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    assert layout.gather(torch.ones(1, 2, 4, 4)).tolist() == [[8.0] * 4]


@pytest.mark.parametrize("name", ARRAYS)
def test_every_unit_of_an_array_exists(name: str) -> None:
    data = SETS[name]()
    assert data.layout.valid(data.train.x).tolist() == [[True] * data.layout.d] * 6
    assert len(data.units) == data.layout.d


def test_the_units_of_texts_are_their_positions() -> None:
    valid = Layout("words").valid(TEXTS)
    assert valid.sum(1).tolist() == [4, 2, 8, 1, 5]
    assert valid.shape == (5, 8)
    assert bool((valid == (valid.int().cumprod(1) > 0)).all())  # no holes
    assert Layout("sentences").valid(REVIEWS).sum(1).tolist() == [3, 1, 4, 2]
    assert Layout("words").valid([]).shape == (0, 0)
    assert Layout("words").valid([[], []]).shape == (2, 0)


def test_a_text_has_no_fixed_number_of_units() -> None:
    assert Layout("words").is_text
    assert not PLAIN.is_text
    with pytest.raises(InputError, match=r"a text has as many units as it has words or sentences: ask valid\(x\)"):
        _ = Layout("sentences").d


# --- rows, splits, data -----------------------------------------------------------------------------------------------


def test_rows_of_every_sort() -> None:
    index = torch.tensor([3, 0, 3])
    assert rows_of(TEXTS, index) == [TEXTS[3], TEXTS[0], TEXTS[3]]
    assert rows_of(TEXTS, slice(1, 3)) == TEXTS[1:3]
    x = torch.arange(8.0).view(4, 2)
    assert rows_of(x, index).tolist() == [[6.0, 7.0], [0.0, 1.0], [6.0, 7.0]]
    assert rows_of(x, slice(2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_a_split_keeps_its_truths_together() -> None:
    layout = Layout("words")
    place = torch.arange(40).view(5, 8)
    split = Split(TEXTS, torch.arange(5), layout.valid(TEXTS), relevant=place % 2 == 0, sentence_of=place)
    part = split.rows(torch.tensor([4, 1]))
    assert len(split) == 5
    assert len(part) == 2
    assert part.x == [TEXTS[4], TEXTS[1]]
    assert part.y.tolist() == [4, 1]
    assert part.valid.sum(1).tolist() == [5, 2]
    assert part.relevant is not None
    assert part.sentence_of is not None
    assert part.sentence_of[:, 0].tolist() == [32, 8]
    assert torch.equal(part.relevant, part.sentence_of % 2 == 0)
    assert part.relevant_sentences is None


def test_data_know_their_groups_and_splits() -> None:
    data = dataset(GROUPED, values(GROUPED))
    assert data.groups == ((0, 2), (1, 4), (3,))
    assert data.units == ("colour", "place", "age")
    assert data.kind == "table"
    assert data["validation"] is data.validation
    with pytest.raises(InputError) as caught:
        data["valid"]
    assert str(caught.value) == "split must be 'train', 'validation' or 'test', got 'valid'"
    assert SETS["words"]().groups == ()


# --- explanations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_some_rows_of_an_explanation(name: str) -> None:
    whole, index = explanation(name), torch.tensor([2, 0])
    part = whole.rows(index)
    assert len(part) == 2
    for field in ("scores", "kept", "valid", "target"):
        assert torch.equal(getattr(part, field), getattr(whole, field)[index])
    assert part.row(0) == whole.row(2)
    assert part.origin == {"method": "made"}
    assert explanation(name, x=None).rows(index).x is None


def test_a_row_of_words_leaves_the_padding_out() -> None:
    e = explanation("words")
    row = e.row(1)
    assert (row.kind, row.values, row.label) == ("words", ["cold", "soup"], "class 1")
    assert row.scores == e.scores[1, :2].tolist()
    assert row.kept == e.kept[1, :2].tolist()


def test_a_row_of_sentences_and_of_pixels() -> None:
    assert explanation("sentences").row(0).values == ["the soup was warm", "cold tea", "fine"]
    image = explanation("patches").row(-1)
    assert (image.shape, len(image.values), len(image.scores)) == ([3, 8, 8], 192, 4)
    assert image.owner == list(grid(3, 8, 4).owner)
    assert explanation(classes=()).row(1).label == "1"


@pytest.mark.parametrize("i", [6, -7, "a", None, 1.5])
def test_a_row_that_is_not_there_is_refused(i: Any) -> None:
    with pytest.raises(InputError) as caught:
        explanation().show(i)
    assert str(caught.value) == f"this explanation has rows 0..5, got {i!r}"


@pytest.mark.parametrize("missing", ["x", "layout"])
def test_an_explanation_without_its_inputs_cannot_be_drawn(missing: str) -> None:
    with pytest.raises(InputError, match="does not hold its inputs, so it cannot be drawn; use explainer"):
        explanation(**{missing: None}).show()


@pytest.mark.parametrize("name", SETS)
def test_every_kind_can_be_shown(name: str) -> None:
    drawing = explanation(name).show(1)
    assert isinstance(drawing, Drawing)
    assert "class 1" in str(drawing)


def test_a_notebook_shows_the_first_rows() -> None:
    e = explanation("words")
    html = e._repr_html_()
    assert html.count("explained class") == 3
    assert html.endswith(f"<p>{len(e)} rows in all</p>")
    assert explanation("words", x=None)._repr_html_() == f"<p>{len(e)} rows in all</p>"
