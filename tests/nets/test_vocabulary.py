"""Ids: by frequency, the same for the same texts, special ones for what is no word."""

from __future__ import annotations

import torch

from unmask.masking.removals import MASK, PAD
from unmask.nets import Vocabulary
from unmask.nets.vocabulary import END, HIDDEN

TEXTS = [["b", "a", "a"], ["c", "b", "a"], ["d"]]


def test_ids_go_by_frequency_and_then_by_alphabet() -> None:
    vocabulary = Vocabulary.build(TEXTS)
    assert vocabulary.words == ("a", "b", "c", "d")
    assert vocabulary.encode([["a", "b", "c", "d"]]).tolist() == [[4, 5, 6, 7]]
    assert len(vocabulary) == 8


def test_the_order_of_the_texts_changes_nothing() -> None:
    shuffled = [row[::-1] for row in TEXTS[::-1]]
    assert Vocabulary.build(shuffled) == Vocabulary.build(TEXTS)


def test_what_is_no_word_has_its_own_ids() -> None:
    vocabulary = Vocabulary.build(TEXTS)
    assert vocabulary.encode([[PAD, MASK, "never seen", "a"]]).tolist() == [[HIDDEN, 2, 3, 4]]
    assert (END, HIDDEN) == (0, 1)


def test_words_beyond_the_size_are_unknown() -> None:
    vocabulary = Vocabulary.build(TEXTS, size=2)
    assert vocabulary.encode([["a", "b", "c", "d"]]).tolist() == [[4, 5, 3, 3]]
    assert int(vocabulary.encode(TEXTS).max()) < len(vocabulary)


def test_special_words_in_the_texts_take_no_place() -> None:
    assert Vocabulary.build([[PAD, MASK, "a", PAD]], size=3).words == ("a",)


def test_an_empty_string_is_an_unknown_word_and_no_end() -> None:
    vocabulary = Vocabulary.build([["", "a"]])
    assert vocabulary.encode([["", "a"]]).tolist() == [[3, 4]]


def test_short_rows_are_filled_with_the_end() -> None:
    ids = Vocabulary.build(TEXTS).encode([["a"], [], ["b", "c"]])
    assert ids.tolist() == [[4, END], [END, END], [5, 6]]
    assert ids.dtype == torch.long


def test_no_rows_and_empty_rows() -> None:
    vocabulary = Vocabulary.build(TEXTS)
    assert vocabulary.encode([]).shape == (0, 0)
    assert vocabulary.encode([[], []]).shape == (2, 0)
