"""Maskable networks, `net(x, kept) -> logits`, and selectors, `net(x, kept) -> one score for each unit`."""

from __future__ import annotations

from unmask.nets.defaults import ACTIVATIONS, default, selector
from unmask.nets.images import PixelNet, PixelSelector
from unmask.nets.reader import Reader, read
from unmask.nets.sentences import SentenceNet, SentenceSelector, SentenceSet
from unmask.nets.tables import TableNet, TableSelector
from unmask.nets.vocabulary import Vocabulary
from unmask.nets.words import WordBag, WordNet, WordSelector, WordSet

__all__ = [
    "ACTIVATIONS",
    "PixelNet",
    "PixelSelector",
    "Reader",
    "SentenceNet",
    "SentenceSelector",
    "SentenceSet",
    "TableNet",
    "TableSelector",
    "Vocabulary",
    "WordBag",
    "WordNet",
    "WordSelector",
    "WordSet",
    "default",
    "read",
    "selector",
]
