"""Texts with human rationales: spans against tokens."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from unmask.data import load, rationales
from unmask.errors import InputError

from .conftest import REAL
from .folders import write_jsonl


def movie(part: str, i: int) -> dict[str, Any]:
    tokens = [part, str(i), ".", "good" if i % 2 else "bad", "film", "."]
    found = {"tokens": tokens, "sentence_ends": [3, 6], "label": i % 2, "rationale": [[3, 5]]}
    return {**found, "rationale_original": [[3, 4]]} if part == "test" else found


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    monkeypatch.setattr(rationales, "MOVIES", {"train": 10, "dev": 4, "test": 6})
    for part, rows in rationales.MOVIES.items():
        write_jsonl(tmp_path / "eraser_movies" / f"{part}.jsonl.gz", [movie(part, i) for i in range(rows)])
    monkeypatch.setattr(rationales, "BEER", {"reviews_unannotated": 40, "annotations": 5})
    scores = [0.2, 0.5, 0.6, 0.9]
    plain = [{"text": f"Beer {i}!", "scores": {"aroma": scores[i % 4]}} for i in range(40)]
    write_jsonl(tmp_path / "beer" / "reviews_unannotated.jsonl.gz", plain)
    marked = [
        {"tokens": ["nice", "nose"], "scores": {"aroma": scores[i % 4]}, "rationale": {"aroma": [[1, 2]] if i else []}}
        for i in range(5)
    ]
    write_jsonl(tmp_path / "beer" / "annotations.jsonl.gz", marked)
    return tmp_path


def test_movie_spans_mark_their_words(small: Path) -> None:
    made = load("eraser-movies")
    assert (len(made.train), len(made.validation), len(made.test)) == (10, 4, 6)
    part = made.test
    assert part.relevant is not None
    assert part.sentence_of is not None
    assert part.relevant_sentences is not None
    assert part.relevant.tolist() == [[False, False, False, True, True, False]] * 6
    assert part.sentence_of.tolist() == [[0, 0, 0, 1, 1, 1]] * 6
    assert part.relevant_sentences.tolist() == [[False, True]] * 6


def test_movies_have_two_annotations(small: Path) -> None:
    made, usual = load("eraser-movies:annotation=original"), load("eraser-movies")
    assert made.test.relevant is not None
    assert made.test.relevant.tolist() == [[False, False, False, True, False, False]] * 6
    assert made.train.relevant.tolist() == usual.train.relevant.tolist()
    assert made.test.x == usual.test.x
    assert made.notes["rationales"] != usual.notes["rationales"]
    with pytest.raises(InputError, match="unknown annotation 'all'"):
        load("eraser-movies:annotation=all")


def test_truncation_moves_the_truth_along(small: Path) -> None:
    part = load("eraser-movies", length=2, truncate="tail").test
    assert part.relevant is not None
    assert part.sentence_of is not None
    assert part.x == [["film", "."]] * 6
    assert part.relevant.tolist() == [[True, False]] * 6
    assert part.sentence_of.tolist() == [[0, 0]] * 6


def test_beer_thresholds(small: Path) -> None:
    made = load("beer")
    assert len(made.train) + len(made.validation) == 30  # ratings of 0.5 are left out
    assert abs(float(made.train.y.double().mean()) - 2 / 3) < 0.05
    assert made.train.relevant is None
    assert len(made.test) == 4  # one annotation has no span
    assert made.test.relevant is not None
    assert made.test.relevant.tolist() == [[False, True]] * 4
    assert sorted(made.test.y.tolist()) == [0, 0, 1, 1]  # 0.5 counts as negative here
    with pytest.raises(InputError, match="unknown aspect 'smell'"):
        load("beer:smell")


@REAL
def test_every_movie_span_lies_in_its_tokens() -> None:
    made = load("eraser-movies")
    assert (len(made.train), len(made.validation), len(made.test)) == (1600, 200, 199)
    path = Path(os.environ["UNMASK_DATA"], "eraser_movies", "test.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        source = {" ".join(r["tokens"]): r for r in map(json.loads, lines)}
    assert made.test.relevant is not None
    for row, kept in zip(made.test.x, made.test.relevant, strict=True):
        record = source[" ".join(row)]
        spans = {place for start, end in record["rationale"] for place in range(start, end)}
        assert set(kept.nonzero().flatten().tolist()) == spans
        assert record["sentence_ends"][-1] == len(row)
    for test, want in ((made.test, 0.314), (load("eraser-movies:annotation=original").test, 0.303)):
        share = test.relevant.sum(1) / test.valid.sum(1)
        assert float(share.mean()) == pytest.approx(want, abs=0.001)


@REAL
@pytest.mark.parametrize(
    ("aspect", "spans", "negative"), [("appearance", 960, 207), ("aroma", 922, 357), ("palate", 828, 263)]
)
def test_real_beer_counts(aspect: str, spans: int, negative: int) -> None:
    made = load(f"beer:{aspect}")
    assert made.name == f"beer:{aspect}"
    assert len(made.test) == spans
    assert int((made.train.y == 0).sum() + (made.validation.y == 0).sum()) == negative
    assert made.test.relevant is not None
    assert made.test.relevant.any(1).double().mean() > 0.99
