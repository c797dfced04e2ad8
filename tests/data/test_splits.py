"""Drawing rows and putting splits together."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.data import splits


@given(st.lists(st.integers(3, 40), min_size=2, max_size=5), st.integers(0, 99))
def test_shares_cover_all_rows_once_and_every_class(counts: list[int], seed: int) -> None:
    y = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
    pieces = splits.shares(y, seed)
    assert sorted(torch.cat(pieces).tolist()) == list(range(len(y)))
    for piece in pieces:
        assert set(y[piece].tolist()) == set(range(len(counts)))
    for label, count in enumerate(counts):
        assert int((y[pieces[1]] == label).sum()) == max(1, round(0.2 * count))


@given(st.lists(st.integers(5, 60), min_size=2, max_size=4), st.data())
def test_draw_has_exact_sizes_and_nearly_exact_shares(counts: list[int], data: st.DataObject) -> None:
    y = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
    size = data.draw(st.integers(1, len(y)))
    other = data.draw(st.integers(0, len(y) - size))
    first, second = splits.draw(y, (size, other), seed=1)
    assert (len(first), len(second)) == (size, other)
    assert not set(first.tolist()) & set(second.tolist())
    for label, count in enumerate(counts):
        assert abs(int((y[first] == label).sum()) - size * count / len(y)) <= len(counts)


def test_relevant_sentences_follow_from_relevant_words() -> None:
    split = splits.words_split(
        [["a", ".", "b", "."], ["c", "."]],
        torch.tensor([0, 1]),
        [[False, False, True, False], [True, False]],
        [[0, 0, 1, 1], [0, 0]],
    )
    assert split.relevant_sentences is not None
    assert split.sentence_of is not None
    assert split.relevant_sentences.tolist() == [[False, True], [True, False]]
    assert split.sentence_of.tolist() == [[0, 0, 1, 1], [0, 0, -1, -1]]
    cut = splits.by_sentence(split)
    assert cut.x == [[["a", "."], ["b", "."]], [["c", "."]]]
    assert cut.valid.tolist() == [[True, True], [True, False]]
