"""Planted cheats: in the right rows, at the recorded units, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unmask.data import dataset, load, plant, planted
from unmask.data.planting import decided
from unmask.errors import InputError
from unmask.types import Dataset

PARTS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def reviews() -> Dataset:
    return load("reviews", n=80)


def test_words_are_inserted_in_a_rate_of_each_class(reviews: Dataset) -> None:
    made = plant(reviews, "zzz", 0.75)
    for name in PARTS:
        marks, part, before = planted(made, name), made[name], reviews[name]
        for label, word in enumerate(("zzz_negative", "zzz_positive")):
            rows = part.y == label
            assert int(marks[rows].any(1).sum()) == round(0.75 * int(rows.sum()))
            assert sum(word in part.x[i] for i in rows.nonzero().flatten()) == round(0.75 * int(rows.sum()))
            assert not any(word in part.x[i] for i in (~rows).nonzero().flatten())
        for row, words in enumerate(part.x):
            assert [w for w, mark in zip(words, marks[row].tolist(), strict=False) if not mark] == before.x[row]


def test_what_is_known_of_the_other_words_moves_along(reviews: Dataset) -> None:
    made = plant(reviews, "zzz", 1.0)
    for name in PARTS:
        part, before, marks = made[name], reviews[name], planted(made, name)
        assert part.relevant is not None
        assert part.sentence_of is not None
        assert before.relevant is not None
        assert before.sentence_of is not None
        assert part.relevant.shape == part.sentence_of.shape == part.valid.shape
        assert not (part.relevant & marks).any()
        for row in range(len(part)):
            old = marks[row].logical_not() & part.valid[row]
            n = len(before.x[row])
            assert part.relevant[row][old].tolist() == before.relevant[row][:n].tolist()
            assert part.sentence_of[row][old].tolist() == before.sentence_of[row][:n].tolist()


def test_one_class_only(reviews: Dataset) -> None:
    made = plant(reviews, "zzz", 0.5, label="positive")
    assert made.notes["planted"]["cue"] == {"positive": "zzz"}
    assert not planted(made, "train")[made.train.y == 0].any()
    assert planted(made, "train").sum() == round(0.5 * int(made.train.y.sum()))


def test_sentences() -> None:
    data = load("reviews", n=80, unit="sentences")
    made = plant(data, {"negative": "it rained .", "positive": "it snowed ."}, 0.5)
    marks = planted(made, "test")
    assert made.test.relevant is not None
    assert marks.sum(1).max() == 1
    for row, place in marks.nonzero().tolist():
        assert made.test.x[row][place] == ["it", "snowed" if made.test.y[row] else "rained", "."]
        assert not made.test.relevant[row, place]
    assert (made.test.relevant.sum(1) == 1).all()


def test_pixels() -> None:
    data = load("digits", patch=2)
    made = plant(data, (0, 0), 0.9, label="3")
    marks = planted(made, "test")
    rows = marks.any(1)
    assert int(rows.sum()) == round(0.9 * int((made.test.y == 3).sum()))
    assert (made.test.y[rows] == 3).all()
    assert marks[rows][:, 0].all()
    assert marks.sum() == rows.sum()
    assert (made.test.x[rows][:, 0, 0, 0] == 1).all()
    assert torch.equal(made.test.x[~rows], data.test.x[~rows])
    assert data.test.x[rows][:, 0, 0, 0].max() < 1  # the data given stay as they were
    side = plant(_pictures(), (1, 0), 1.0)
    assert planted(side, "train").nonzero()[:, 1].tolist() == [4 + y for y in side.train.y.tolist()]


def _pictures() -> Dataset:
    return dataset(np.zeros((20, 4, 4)) + np.arange(20)[:, None, None], [0, 1] * 10)


def test_a_new_column() -> None:
    data = load("tumours")
    made = plant(data, "hint", 0.8)
    assert made.units[-1] == "hint"
    assert made.layout.shape == (31,)
    assert made.test.valid.shape == (len(made.test), 31)
    marks = planted(made, "test")
    assert not marks[:, :30].any()
    expected = torch.where(marks[:, 30], made.test.y + 1, torch.zeros_like(made.test.y))
    assert made.test.x[:, 30].tolist() == expected.tolist()


def test_an_overwritten_column_and_frames() -> None:
    frame = pd.DataFrame({"age": range(20), "town": ["a", "b"] * 10})
    data = dataset(frame, [0, 1] * 10)
    made = plant(data, "age", 1.0)
    assert (made.train.x[:, 0] == made.train.y + 1).all()
    assert made.units == data.units
    wider = plant(data, "hint", 1.0)
    assert wider.frames is not None
    assert wider.frames.decode(wider.train.x)["hint"].tolist() == (wider.train.y + 1).tolist()
    with pytest.raises(InputError, match="'town' is made of 2 columns"):
        plant(data, "town", 1.0)


def test_relevant_columns_stay_those_of_the_task() -> None:
    made = plant(load("xor", n=20), "hint", 1.0)
    assert made.train.relevant is not None
    assert made.train.relevant.int().tolist() == [[1, 1] + [0] * 9] * 20


def test_bias_of_reviews_is_planted_too() -> None:
    words, sentences = load("reviews:bias=0.8", n=40), load("reviews:bias=0.8,unit=sentences", n=40)
    for made in (words, sentences):
        marks = planted(made, "test")
        assert marks[:, 0].all()
        assert marks.sum() == len(made.test)


def test_same_seed_same_rows(reviews: Dataset) -> None:
    first, again, other = (plant(reviews, "zzz", 0.5, seed=seed) for seed in (1, 1, 2))
    assert first.train.x == again.train.x
    assert first.train.x != other.train.x


@pytest.mark.parametrize(
    ("name", "cue", "options", "words"),
    [
        ("digits", (0, 9), {"label": "3"}, r"a \(row, column\) inside 8 by 8 pixels, got \(0, 9\)"),
        ("digits", "star", {"label": "3"}, r"a cue in images is a \(row, column\)"),
        ("digits", (0, 0), {"label": "12"}, "unknown class '12'"),
        ("tumours", (0, 0), {}, "a cue in table data is a string"),
        ("tumours", {"benign": "a"}, {}, "not for tables"),
        ("digits", {"3": (0, 0)}, {"rate": 0}, "rate must be above 0 and at most 1, got 0"),
        ("digits", {"33": (0, 0)}, {}, "unknown class '33'"),
    ],
)
def test_mistakes(name: str, cue: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plant(load(name), cue, **{"rate": 0.5, **options})


def test_mistakes_with_words(reviews: Dataset) -> None:
    with pytest.raises(InputError, match="the word 'glass' already stands in the data"):
        plant(reviews, "glass", 0.5, label="positive")
    with pytest.raises(InputError, match="already carry a planted cue"):
        plant(plant(reviews, "zzz", 0.5), "yyy", 0.5)
    with pytest.raises(InputError, match="no cue was planted"):
        planted(reviews, "test")


def test_a_cue_decides_alone_where_classes_are_drawn_afresh(reviews: Dataset) -> None:
    cues = {"negative": "he", "positive": "she"}
    made = decided(reviews, cues)
    for name in PARTS:
        part, before = made[name], reviews[name]
        assert abs(int((part.y == 0).sum()) - int((part.y == 1).sum())) <= 1
        told = [[word for word in row if word in cues.values()] for row in part.x]
        assert told == [[cues[made.classes[label]]] for label in part.y.tolist()]
        assert [[w for w in row if w not in cues.values()] for row in part.x] == before.x
        assert part.relevant is not None
        assert torch.equal(part.relevant, planted(made, name))
        assert part.relevant_sentences is None
        agrees = (part.y == before.y).float().mean()
        assert 0.2 < float(agrees) < 0.8  # what the text says of the class is nothing


def test_rows_without_a_cue_have_any_class(reviews: Dataset) -> None:
    made = decided(reviews, "zzz", rate=0.5, seed=3)
    marks = planted(made, "train").any(1)
    assert int(marks.sum()) == 40
    assert {0, 1} == set(made.train.y[~marks].tolist())
    again, other = (decided(reviews, "zzz", rate=0.5, seed=seed) for seed in (3, 4))
    assert torch.equal(again.train.y, made.train.y)
    assert not torch.equal(other.train.y, made.train.y)
