from __future__ import annotations

import pytest

from foreign.samples import about, polite, table, texts
from unmask.errors import InputError
from unmask.foreign.about import letters, owners


def test_another_number_of_rows_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"the scores 'mine' are for 7 rows, but test of yours has 30; explain data\.t"
    ):
        about(table()).check_rows(7)


def test_letters_belong_to_their_word() -> None:
    it = about(texts(), polite)
    i = next(i for i, row in enumerate(it.split.x) if row[-1] == "bad")
    assert letters(it, i, "It isn't bad") == [0, 0, 1, 1, 2, 2, 2, 3, 3, 3]


def test_pieces_belong_to_the_word_they_begin_in() -> None:
    it = about(texts(), polite)
    i = next(i for i, row in enumerate(it.split.x) if row[0] == "good")
    assert owners(it, i, ["", "go", "od ", "and", " good ag", "ain", ""]) == [None, 0, 0, 1, 2, 3, None]


def test_another_text_is_refused() -> None:
    with pytest.raises(InputError, match="row 0 of 'mine' explains another text, 'something else', than row 0 of test"):
        letters(about(texts(), polite), 0, "something else")
