"""Which words may stand for which."""

from __future__ import annotations

import sys

import pytest
import torch

from unmask.data.lexicon import alike, parts, polarity
from unmask.errors import InputError

pytestmark = pytest.mark.slow


def test_parts_of_speech_are_grouped_and_unknown_words_have_none() -> None:
    assert parts(["good", "Larger", "film", "films", "walks", "quickly", "the", "xqzwv"]) == [
        "JJ",
        "JJ",
        "NN",
        "NN",
        "VB",
        "RB",
        "DT",
        "",
    ]


def test_polarity() -> None:
    good, bad, film, none = polarity(["good", "Terrible", "film", "xqzwv"]).tolist()
    assert good > 0.5
    assert bad < -0.5
    assert film == none == 0


def test_antonyms_and_other_parts_of_speech_are_not_alike() -> None:
    words = ["good", "bad", "great", "film", "movie", "xqzwv"]
    want = torch.eye(6, dtype=torch.bool)
    want[0, 2] = want[2, 0] = want[3, 4] = want[4, 3] = True
    want[5, 5] = False  # what the lexicon does not have is like nothing
    assert torch.equal(alike(words, words), want)


def test_a_clear_word_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textblob", None)
    with pytest.raises(InputError, match=r"unmask\[words\]"):
        parts(["good"])
