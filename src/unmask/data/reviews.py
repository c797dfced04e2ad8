"""Generated beer reviews: one sentence for each of four aspects, whose sentiments go together.

Each sentence holds three sentiment words of its aspect. The label is the sentiment of one aspect, and its three words
are the truth. With `noise`, one word of a sentence may have the other polarity; the majority never does, so every
label can be read from its sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from unmask import seeds
from unmask.data import review_words as language
from unmask.data.layouts import SENTENCES, WORDS
from unmask.data.splits import by_sentence, joined, words_split
from unmask.errors import InputError, unknown
from unmask.types import Dataset, Split

__all__ = ["CUES", "INVERTED", "PRESETS", "Settings", "reviews"]

CUES = {"negative": "yesterday", "positive": "tonight"}  # say nothing, and stand nowhere else in a review
INVERTED = {"negative": "positive", "positive": "negative"}  # by label: the word that contradicts it, as published
PER_SENTENCE = 3
Array = Any


@dataclass(frozen=True)
class Settings:
    """How the reviews are made."""

    n: int = 4000  # training reviews; a quarter as many to validate, and to test
    words: int = 40  # sentiment words of each aspect and polarity
    common: float = 0.2  # share of them that all aspects have in common
    correlation: float = 0.6  # between the sentiments of any two aspects
    noise: float = 0.15  # share of sentiment words of the other polarity, at most one in each sentence
    order: str = "usual"  # "usual": appearance opens, the others follow at random; "random"; "fixed"
    aspect: str = "aroma"  # whose sentiment is the label
    bias: float | None = None  # rate at which a cue before the first sentence tells the label
    cue: str = "agreeing"  # "agreeing": a word that says nothing else goes with each label; "inverted": the word
    # "positive" or "negative" stands there and contradicts the label at that rate, as in the code of Yu et al.
    skew: int = 0  # epochs in which the predictor of a rationale model first learns from the opening sentence alone
    unit: str = "words"  # or "sentences"


PRESETS = {"easy": Settings(), "hard": Settings(words=80, common=0.1)}


def reviews(name: str, seed: int, preset: str = "easy", **changes: Any) -> Dataset:
    """Reviews by a preset, with single settings changed; see `Settings`."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    known = [field.name for field in fields(Settings)]
    for option in changes:
        if option not in known:
            raise unknown("option of reviews", option, known)
    settings = replace(PRESETS[preset], **changes)
    _check(settings)
    parts = _parts(settings, seed)
    layout = WORDS
    if settings.unit == "sentences":
        layout, parts = SENTENCES, [by_sentence(part) for part in parts]
    return joined(name, layout, language.POLARITIES, parts, _notes(settings, preset, parts))


def _check(settings: Settings) -> None:
    for option in ("common", "correlation", "bias"):
        value = getattr(settings, option)
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"{option} must be between 0 and 1, got {value}")
    if not 0 <= settings.noise <= 1 / PER_SENTENCE:
        raise InputError(f"noise must be 0..1/3, so that two of three words agree with the label, got {settings.noise}")
    choices = {
        "order": ("fixed", "random", "usual"),
        "unit": ("sentences", "words"),
        "aspect": language.ASPECTS,
        "cue": ("agreeing", "inverted"),
    }
    for option, known in choices.items():
        if getattr(settings, option) not in known:
            raise unknown(option, str(getattr(settings, option)), known)
    if settings.cue == "inverted" and settings.bias is None:
        raise InputError("cue='inverted' says which word is planted, bias at which rate: give both, as in bias=0.8")
    if not isinstance(settings.skew, int) or settings.skew < 0:
        raise InputError(f"skew is a number of epochs, 0 or more, got {settings.skew}")
    if settings.n < 4 or settings.words < PER_SENTENCE:
        raise InputError(f"n must be at least 4 and words at least 3, got {settings.n} and {settings.words}")


def _notes(settings: Settings, preset: str, parts: list[Split]) -> dict[str, Any]:
    notes: dict[str, Any] = {"source": "generated", "preset": preset, "settings": asdict(settings)}
    notes["aspects"] = language.ASPECTS
    if settings.skew:
        notes["skew"] = settings.skew
    if settings.bias is not None:
        rows = {
            part: list(range(len(split))) for part, split in zip(("train", "validation", "test"), parts, strict=True)
        }
        where = "first sentence" if settings.unit == "sentences" else "first word"
        cues = _cues(settings)
        notes["planted"] = {"cue": cues, "rate": settings.bias, "otherwise": "the other cue", "at": where, "rows": rows}
    return notes


def _cues(settings: Settings) -> dict[str, str]:
    """Label -> the word planted at the rate of the bias."""
    return INVERTED if settings.cue == "inverted" else CUES


def _parts(settings: Settings, seed: int) -> list[Split]:
    sizes = [settings.n, settings.n // 4, settings.n // 4]
    unique: dict[str, Review] = {}
    for round_ in range(20):
        if len(unique) >= sum(sizes):
            break
        rng = np.random.default_rng(seeds.derive(seed, "reviews", round_))
        unique |= {" ".join(review.words): review for review in _write(settings, sum(sizes), rng)}
    chosen = iter(list(unique.values())[: sum(sizes)])
    return [_split([next(chosen) for _ in range(size)]) for size in sizes]


@dataclass(frozen=True)
class Review:
    """One review as it was written."""

    words: list[str]
    relevant: list[bool]
    sentence_of: list[int]
    label: int


def _split(rows: list[Review]) -> Split:
    y = torch.tensor([row.label for row in rows])
    return words_split([r.words for r in rows], y, [r.relevant for r in rows], [r.sentence_of for r in rows])


def _write(settings: Settings, n: int, rng: np.random.Generator) -> Iterator[Review]:
    target = language.ASPECTS.index(settings.aspect)
    moods = _moods(n, settings.correlation, rng)  # (n, aspects) 0 or 1
    chosen = _chosen(settings, moods, rng)  # (n, aspects, 3) words
    order = _order(settings.order, n, rng)  # (n, aspects)
    phrasing = rng.integers(1 << 30, size=(n, len(language.ASPECTS), 7)).tolist()
    agrees, cues = rng.random(n) < (settings.bias or 0), _cues(settings)
    for row in range(n):
        label = int(moods[row, target])
        told = language.POLARITIES[label if agrees[row] else 1 - label]
        start = [] if settings.bias is None else [cues[told]]
        sentences = [(a, *_sentence(language.ASPECTS[a], chosen[row][a], phrasing[row][a])) for a in order[row]]
        yield _review(sentences, target, label, start)


def _moods(n: int, correlation: float, rng: np.random.Generator) -> Array:
    """One hidden mood for each review, copied by each aspect with probability (1 + sqrt(correlation)) / 2."""
    hidden = rng.integers(2, size=(n, 1))
    follows = rng.random((n, len(language.ASPECTS))) < (1 + correlation**0.5) / 2
    return np.where(follows, hidden, 1 - hidden)


def _chosen(settings: Settings, moods: Array, rng: np.random.Generator) -> list[list[list[str]]]:
    """Three different words for each sentence; in 3 * noise of the sentences one of them has the other polarity."""
    n, aspects = moods.shape
    words = rng.random((n, aspects, settings.words)).argsort(2)[:, :, :PER_SENTENCE]
    odd = rng.random((n, aspects, 1)) < PER_SENTENCE * settings.noise
    flipped = odd & (np.arange(PER_SENTENCE) == rng.integers(PER_SENTENCE, size=(n, aspects, 1)))
    lists = language.lexicon(settings.words, settings.common)
    table = np.array([[lists[a][p] for p in language.POLARITIES] for a in language.ASPECTS])  # (aspects, 2, words)
    chosen: list[list[list[str]]] = table[np.arange(aspects)[:, None], moods[:, :, None] ^ flipped, words].tolist()
    return chosen


def _order(order: str, n: int, rng: np.random.Generator) -> list[list[int]]:
    key = rng.random((n, len(language.ASPECTS)))
    if order == "fixed":
        key = np.broadcast_to(np.arange(len(language.ASPECTS)), key.shape)
    elif order == "usual":
        key[:, 0] = -1
    ordered: list[list[int]] = key.argsort(1).tolist()
    return ordered


def _sentence(aspect: str, chosen: list[str], numbers: list[int]) -> tuple[list[str], list[bool]]:
    """The words of one sentence, and which of them are its sentiment words."""
    lead, core, subject, verb, noun, more, tail = numbers
    nouns = language.NOUNS[aspect]
    first = noun % len(nouns)
    second = (first + 1 + more % (len(nouns) - 1)) % len(nouns)
    fill = {
        "S": _pick(language.SUBJECTS[aspect], subject),
        "V": _pick(language.VERBS[aspect], verb),
        "N": nouns[first],
        "M": nouns[second],
    }
    cues = dict(zip("ABC", chosen, strict=True))
    frame = f"{_pick(language.LEADS, lead)} {_pick(language.CORES, core)} {_pick(language.TAILS, tail)} ."
    words: list[str] = []
    marks: list[bool] = []
    for slot in frame.split():
        if slot in cues and words[-1] == "a":
            words[-1] = language.article(cues[slot])
        new = [cues[slot]] if slot in cues else fill.get(slot, slot).split()
        words += new
        marks += [slot in cues] * len(new)
    return words, marks


def _pick(options: tuple[str, ...], number: int) -> str:
    return options[number % len(options)]


def _review(sentences: list[tuple[int, list[str], list[bool]]], target: int, label: int, start: list[str]) -> Review:
    words, relevant, sentence_of = [*start], [False] * len(start), [0] * len(start)
    for place, (aspect, tokens, marks) in enumerate(sentences):
        words += tokens
        relevant += [mark and aspect == target for mark in marks]
        sentence_of += [place] * len(tokens)
    return Review(words, relevant, sentence_of, label)
