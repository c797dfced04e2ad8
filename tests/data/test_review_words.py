"""The word lists of the reviews."""

from __future__ import annotations

from collections import Counter

import pytest

from unmask.data import review_words as language
from unmask.errors import InputError


def test_no_word_is_listed_twice() -> None:
    lists = [*language._OWN.values(), *language._GENERAL.values()]
    counts = Counter(word for text in lists for word in text.split())
    assert [word for word, count in counts.items() if count > 1] == []
    assert len(counts) > 640


def test_lexicon_is_the_same_every_time() -> None:
    assert language.lexicon(40, 0.2) == language.lexicon(40, 0.2)


def test_frames_hold_each_slot_once() -> None:
    for core in language.CORES:
        slots = core.split()
        assert all(slots.count(slot) == 1 for slot in "ABC")
        assert slots[0] not in "ABC"


def test_each_aspect_has_its_own_subjects_and_nouns() -> None:
    subjects = [text for row in language.SUBJECTS.values() for text in row]
    assert len(subjects) == len(set(subjects))


def test_too_many_words() -> None:
    with pytest.raises(InputError, match="use fewer words"):
        language.lexicon(300, 0)
