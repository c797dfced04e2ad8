"""What networks know of the data before they are built."""

from __future__ import annotations

import pytest
import torch

from nets.samples import PLAIN, REVIEWS, SETS, TEXTS, dataset, grid
from unmask.masking.removals import PAD
from unmask.nets import read

NAN = torch.nan


def test_a_table_has_the_mean_and_spread_of_what_is_there() -> None:
    x = torch.tensor([[1.0, 5.0, NAN, 2.0], [3.0, 5.0, NAN, NAN], [5.0, 5.0, NAN, 4.0]])
    reader = read(dataset(PLAIN, x))
    assert reader.centre.tolist() == [3.0, 5.0, 0.0, 3.0]
    torch.testing.assert_close(reader.scale, torch.tensor([(8 / 3) ** 0.5, 1.0, 1.0, 1.0]))


def test_zero_removal_puts_the_centre_at_zero() -> None:
    data = SETS["table"]()
    assert read(data, "zero").centre.tolist() == [0.0] * 4
    torch.testing.assert_close(read(data, "mean").centre, data.train.x.mean(0))
    torch.testing.assert_close(read(data, "zero").scale, read(data, "mean").scale)


def test_pixels_share_one_spread() -> None:
    layout = grid(1, 3)
    x = torch.zeros(4, 1, 3, 3)
    x[:, 0, 0, 0] = torch.tensor([0.0, 6.0, 0.0, 6.0])  # spread 3 here, 0 in the eight other pixels
    reader = read(dataset(layout, x))
    torch.testing.assert_close(reader.scale, torch.ones(1, 3, 3))
    torch.testing.assert_close(read(dataset(layout, 2 * x)).scale, torch.full((1, 3, 3), 2.0))


def test_validation_and_test_rows_teach_nothing() -> None:
    data = SETS["words"]()
    assert set(read(data).vocabulary.words) == {word for row in TEXTS for word in row}
    assert len(read(data, words=3).vocabulary.words) == 3


@pytest.mark.parametrize("name", SETS)
def test_valid_units_agree_with_the_layout(name: str) -> None:
    data = SETS[name]()
    reader = read(data)
    assert torch.equal(reader.valid(reader.prepare(data.train.x)), data.layout.valid(data.train.x))


def test_words_hidden_by_padding_are_still_units() -> None:
    reader = read(SETS["words"]())
    assert reader.valid(reader.prepare([["soup", PAD], ["soup"]])).tolist() == [[True, True], [True, False]]


def test_sentences_become_one_block() -> None:
    reader = read(SETS["sentences"]())
    block = reader.prepare(REVIEWS)
    assert block.shape == (4, 4, 6)
    for i, row in enumerate(REVIEWS):
        for j, sentence in enumerate(row):
            assert block[i, j, : len(sentence)].tolist() == [reader.vocabulary.ids[word] for word in sentence]
        assert int(block[i, len(row) :].sum()) == 0


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
@pytest.mark.parametrize("name", ["words", "sentences"])
def test_rows_without_any_unit_can_be_read(name: str, rows: list[list[str]]) -> None:
    reader = read(SETS[name]())
    ids = reader.prepare(rows)
    assert ids.shape[:2] == (len(rows), 0)
    assert reader.valid(ids).shape == (len(rows), 0)


def test_arrays_become_single_precision() -> None:
    reader = read(SETS["table"]())
    assert reader.prepare([[1, 2, 3, 4]]).tolist() == [[1.0, 2.0, 3.0, 4.0]]
    assert reader.prepare(torch.ones(1, 4, dtype=torch.float64)).dtype == torch.float32
