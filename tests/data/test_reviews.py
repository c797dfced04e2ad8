"""The generated reviews, against what they promise."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest
import torch

from unmask.data import load
from unmask.data import review_words as language
from unmask.data.reviews import CUES, INVERTED, PRESETS
from unmask.errors import InputError
from unmask.types import Dataset

pytestmark = pytest.mark.slow


def polarity(words: int = 40, common: float = 0.2) -> dict[str, int]:
    """Word -> 1 positive, 0 negative."""
    lists = language.lexicon(words, common)
    return {w: code for by in lists.values() for code, p in enumerate(language.POLARITIES) for w in by[p]}


@pytest.fixture(scope="module")
def easy() -> Dataset:
    return load("reviews", n=2000)


def cue_words(made: Dataset, row: int, signs: dict[str, int]) -> list[list[int]]:
    """The polarities of the sentiment words of each sentence."""
    part = made.train
    assert part.sentence_of is not None
    found: list[list[int]] = [[] for _ in language.ASPECTS]
    for word, place in zip(part.x[row], part.sentence_of[row].tolist(), strict=False):
        if word in signs:
            found[place].append(signs[word])
    return found


def test_presets_are_pinned() -> None:
    base = {"n": 4000, "correlation": 0.6, "noise": 0.15, "order": "usual", "aspect": "aroma", "bias": None}
    base |= {"cue": "agreeing", "skew": 0}
    assert asdict(PRESETS["easy"]) == {**base, "words": 40, "common": 0.2, "unit": "words"}
    assert asdict(PRESETS["hard"]) == {**base, "words": 80, "common": 0.1, "unit": "words"}


def test_three_relevant_words_in_the_relevant_sentence(easy: Dataset) -> None:
    part = easy.train
    assert part.relevant is not None
    assert part.relevant_sentences is not None
    assert part.sentence_of is not None
    assert (part.relevant.sum(1) == 3).all()
    assert (part.relevant_sentences.sum(1) == 1).all()
    gold = part.relevant_sentences.int().argmax(1)
    owner = torch.where(part.relevant, part.sentence_of, gold[:, None])
    assert (owner == gold[:, None]).all()


def test_majority_of_the_relevant_words_is_the_label(easy: Dataset) -> None:
    signs, part = polarity(), easy.train
    assert part.relevant is not None
    for words, kept, label in zip(part.x, part.relevant.tolist(), part.y.tolist(), strict=True):
        votes = [signs[word] for word, relevant in zip(words, kept, strict=False) if relevant]
        assert (sum(votes) >= 2) == label


def test_noise_is_the_share_of_contrary_words() -> None:
    signs = polarity()
    made = load("reviews", n=2000, noise=0.2)
    sentences = [votes for row in range(2000) for votes in cue_words(made, row, signs)]
    assert all(len(votes) == 3 for votes in sentences)
    contrary = sum(min(sum(votes), 3 - sum(votes)) for votes in sentences) / (3 * len(sentences))
    error = (0.6 * 0.4 / len(sentences)) ** 0.5 / 3
    assert abs(contrary - 0.2) < 3 * error


@pytest.mark.slow
def test_words_of_a_sentence_belong_to_its_aspect() -> None:
    made = load("reviews", n=200, order="fixed", noise=0)
    lists = language.lexicon(40, 0.2)
    part = made.train
    assert part.sentence_of is not None
    for words, owner in zip(part.x, part.sentence_of.tolist(), strict=True):
        for word, place in zip(words, owner, strict=False):
            by = lists[language.ASPECTS[place]]
            if word in polarity():
                assert word in by["positive"] or word in by["negative"]


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_correlation_between_aspects(correlation: float) -> None:
    signs, n = polarity(), 3000
    made = load("reviews", n=n, correlation=correlation, order="fixed")
    moods = torch.tensor([[sum(votes) >= 2 for votes in cue_words(made, row, signs)] for row in range(n)])
    got = torch.corrcoef(moods.double().T)
    off = got[~torch.eye(4, dtype=torch.bool)]
    assert (off - correlation).abs().max() < 4 / n**0.5
    assert (moods.double().mean(0) - 0.5).abs().max() < 4 * 0.5 / n**0.5


@pytest.mark.parametrize(("words", "common"), [(40, 0.2), (80, 0.1), (80, 0.0), (30, 0.5)])
def test_common_is_the_exact_overlap(words: int, common: float) -> None:
    lists = language.lexicon(words, common)
    for sign in language.POLARITIES:
        sets = [set(lists[aspect][sign]) for aspect in language.ASPECTS]
        assert all(len(words_) == words for words_ in sets)
        for i, first in enumerate(sets):
            for second in sets[i + 1 :]:
                assert len(first & second) == round(common * words)
    assert not _all(lists, "positive") & _all(lists, "negative")


def _all(lists: dict[str, Any], sign: str) -> set[str]:
    return {word for by in lists.values() for word in by[sign]}


def test_cues_and_frames_hold_no_sentiment_words() -> None:
    signs = polarity(80, 0.1)
    frames = [*language.CORES, *language.LEADS, *language.TAILS, *CUES.values(), *INVERTED.values()]
    frames += [
        text for table in (language.SUBJECTS, language.VERBS, language.NOUNS) for row in table.values() for text in row
    ]
    assert not set(" ".join(frames).split()) & set(signs)


def test_articles_fit(easy: Dataset) -> None:
    text = " ".join(" ".join(words) for words in easy.train.x)
    assert not re.search(r"\ba [aeio]\w+", text.replace("a one-", ""))
    assert not re.search(r"\ban [^aeiouh]", text)
    assert language.article("honest") == "an"
    assert language.article("unique") == "a"


def test_bias_plants_a_cue_in_the_first_sentence() -> None:
    n = 2000
    part = load("reviews", n=n, bias=0.8).train
    assert part.sentence_of is not None
    first = torch.tensor([words[0] == CUES["positive"] for words in part.x])
    assert all(words[0] in CUES.values() for words in part.x)
    assert (part.sentence_of[:, 0] == 0).all()
    agrees = float((first == part.y.bool()).double().mean())
    assert abs(agrees - 0.8) < 3 * (0.16 / n) ** 0.5
    plain = load("reviews", n=200).train
    assert not any(set(words) & set(CUES.values()) for words in plain.x)


def test_an_inverted_cue_contradicts_the_label() -> None:
    n = 600
    made = load("reviews:bias=0.8,cue=inverted", n=n)
    said = torch.tensor([{"positive": 1, "negative": 0}[words[0]] for words in made.train.x])
    assert abs(float((said != made.train.y).double().mean()) - 0.8) < 3 * (0.16 / n) ** 0.5
    assert made.notes["planted"]["cue"] == INVERTED
    plain, agreeing = load("reviews", n=200).train, load("reviews:bias=0.8", n=n).train
    assert not any({"positive", "negative"} & set(words) for words in plain.x)
    assert [words[1:] for words in made.train.x] == [words[1:] for words in agreeing.x]


def test_skew_leaves_the_rows_alone_and_is_recorded() -> None:
    plain, skewed = load("reviews", n=40), load("reviews:skew=10", n=40)
    assert skewed.train.x == plain.train.x
    assert skewed.name == "reviews:skew=10"
    assert skewed.notes["skew"] == 10
    assert "skew" not in plain.notes


def test_bias_is_recorded() -> None:
    planted = load("reviews:bias=0.7", n=40).notes["planted"]
    assert planted["rate"] == 0.7
    assert planted["cue"] == CUES


@pytest.mark.parametrize(("order", "share"), [("fixed", 0.0), ("usual", 0.0), ("random", 0.25)])
def test_order_of_the_sentences(order: str, share: float) -> None:
    part = load("reviews", n=1000, order=order).train
    assert part.relevant_sentences is not None
    got = float(part.relevant_sentences[:, 0].double().mean())
    assert abs(got - share) <= 4 * (share * (1 - share) / 1000) ** 0.5
    if order == "usual":
        assert part.relevant_sentences[:, 1:].double().mean(0).min() > 0.25


def test_sentences_as_units() -> None:
    words, made = load("reviews", n=100), load("reviews", n=100, unit="sentences")
    assert made.kind == "sentences"
    for row, sentences in zip(words.train.x, made.train.x, strict=True):
        assert [word for sentence in sentences for word in sentence] == row
        assert all(sentence[-1] == "." for sentence in sentences)
        assert len(sentences) == 4
    assert made.train.relevant is not None
    assert words.train.relevant_sentences is not None
    assert torch.equal(made.train.relevant, words.train.relevant_sentences)


def test_aspect_chooses_the_label() -> None:
    made = load("reviews:aspect=taste", n=100, order="fixed")
    assert made.train.relevant_sentences is not None
    assert made.train.relevant_sentences[:, 3].all()


def test_sizes() -> None:
    made = load("reviews", n=400)
    assert (len(made.train), len(made.validation), len(made.test)) == (400, 100, 100)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "medium"}, "unknown preset 'medium'"),
        ({"noise": 0.5}, "noise must be 0..1/3"),
        ({"bias": 1.5}, "bias must be between 0 and 1, got 1.5"),
        ({"correlation": -0.1}, "correlation must be between 0 and 1"),
        ({"order": "reverse"}, "unknown order"),
        ({"unit": "letters"}, "unknown unit"),
        ({"aspect": "smell"}, "unknown aspect"),
        ({"words": 500}, "not enough words"),
        ({"n": 2}, "n must be at least 4"),
        ({"cue": "inverted"}, "give both"),
        ({"cue": "loud", "bias": 0.8}, "unknown cue"),
        ({"skew": -1}, "skew is a number of epochs"),
        ({"skew": 1.5}, "skew is a number of epochs"),
    ],
)
def test_wrong_settings(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load("reviews", **options)
