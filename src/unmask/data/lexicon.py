"""Which words may stand for which: the same part of speech, not the opposite meaning (TextBlob's lexicons, English).

Neighbours among word vectors are often antonyms ("good", "bad"): they stand in the same places.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unmask.errors import InputError

__all__ = ["alike", "parts", "polarity"]

GROUPS = ("NN", "VB", "JJ", "RB")  # nouns, verbs, adjectives, adverbs, whatever their form
CLEAR = 0.1  # a word nearer to 0 than this is neither good nor bad


def alike(words: Sequence[str], among: Sequence[str]) -> Tensor:
    """(words, among) bool: of the same part of speech, and not of opposite polarity."""
    codes = torch.tensor(_codes(parts(words), parts(among)))
    a, b = codes[: len(words)], codes[len(words) :]
    good, other = polarity(words), polarity(among)
    opposite = good[:, None].sign() * other.sign() < 0
    return (a[:, None] == b) & ~opposite


def parts(words: Sequence[str]) -> list[str]:
    """The part of speech of each word on its own, in groups; "" for one that the lexicon does not have."""
    known = _textblob().lexicon
    tags = (known.get(word.lower()) or known.get(word) or "" for word in words)
    return [tag[:2] if tag[:2] in GROUPS else tag for tag in tags]


def polarity(words: Sequence[str]) -> Tensor:
    """(n,) from -1, bad, to 1, good; 0 for words that are neither, and for those that the lexicon does not have."""
    found = torch.tensor([_textblob().sentiment(word.lower())[0] for word in words])
    return found.where(found.abs() >= CLEAR, torch.zeros(()))


def _codes(*lists: list[str]) -> list[int]:
    """Equal numbers for equal parts of speech; each word without one has a number of its own, so is like no other."""
    known: dict[str, int] = {}
    return [
        known.setdefault(part, len(known)) if part else -1 - i for i, part in enumerate(p for one in lists for p in one)
    ]


def _textblob() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files open
            from textblob import en

            en.lexicon.get("")  # reads them now
            en.sentiment("")
    except ImportError as fault:
        raise InputError('the lexicon of words needs the package textblob; run pip install "unmask[words]"') from fault
    return en
