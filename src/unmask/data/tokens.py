"""Text to words, once and for every text set."""

from __future__ import annotations

import html
import re

__all__ = ["tokenize"]

_BREAK = re.compile(r"<br\s*/?>|\\n|[\ufe0e\ufe0f\u200d]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_WORD = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|\w+?(?=n't\b)|@?\w+|\.\.+|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Lower-case words; punctuation and hyphens stand alone, clitics are split off (`do n't`, `it 's`).

    Line breaks written as `<br />` or as a backslash and n go, and so does what joins and varies emoji; entities such
    as `&amp;` are resolved, curly and doubled quotes become plain ones, an `@user` stays whole. Splitting again what
    was split and joined by spaces changes nothing.
    """
    plain = html.unescape(_BREAK.sub(" ", text)).translate(_QUOTES).replace("``", '"').replace("''", '"')
    return _WORD.findall(plain.lower())
