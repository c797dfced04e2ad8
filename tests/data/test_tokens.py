"""The one tokeniser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data import tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A fine film.<br /><br />It's great!", "a fine film . it 's great !"),
        ("I don't think we'll see (it)", "i do n't think we 'll see ( it )"),
        ("Can’t", "ca n't"),
        ("a low-budget film...", "a low - budget film ..."),
        ("@user #sad &amp; tired", "@user # sad & tired"),
        ("it 's `` new '' , is n't it", "it 's \" new \" , is n't it"),
        ("_num_ stars", "_num_ stars"),
        ("", ""),
    ],
)
def test_known_texts(text: str, words: str) -> None:
    assert tokenize(text) == words.split()


@given(st.text(alphabet="abnst'-.,! @#0é", max_size=40))
def test_splitting_twice_changes_nothing(text: str) -> None:
    once = tokenize(text)
    assert tokenize(" ".join(once)) == once


@given(st.text(max_size=40))
def test_no_token_is_empty_or_holds_a_space(text: str) -> None:
    assert all(token and not any(c.isspace() for c in token) for token in tokenize(text))
