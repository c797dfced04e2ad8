"""The files of Lei et al., written small."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from unmask.data import load
from unmask.errors import InputError

LINES = [
    "0.9 0.8 0.5 0.5 0.5\tsmells of roses and honey",
    "0.9 0.2 0.5 0.5 0.5\tsmells of old socks",
    "0.9 0.5 0.5 0.5 0.5\tsmells of nothing at all",
    "0.1 0.7 0.5 0.5 0.5\tpale but it smells fine",
]
MARKED = [
    {"x": ["it", "smells", "good", "."], "y": [0.5, 0.9, 0.5, 0.5, 0.5], "1": [[1, 3]], "0": []},
    {"x": ["bad", "smell", "today"], "y": [0.5, 0.5, 0.5, 0.5, 0.5], "1": [[0, 2]]},
    {"x": ["no", "rationale"], "y": [0.5, 0.9, 0.5, 0.5, 0.5], "1": []},
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "reviews.aspect2.train.txt.gz", "wt") as stream:
        stream.write("\n".join(LINES))
    (tmp_path / "reviews.aspect2.heldout.txt").write_text("\n".join(LINES[:2]))  # unpacked will do
    (tmp_path / "annotations.json").write_text("\n".join(json.dumps(row) for row in MARKED))
    return tmp_path


def test_reviews_labels_and_marks(files: Path) -> None:
    data = load("beer-lei", path=files)
    labels = {" ".join(row): y for row, y in zip(data.train.x, data.train.y.tolist(), strict=True)}
    assert labels == {LINES[i].partition("\t")[2]: y for i, y in ((0, 1), (1, 0), (3, 1))}
    assert sorted(data.validation.y.tolist()) == [0, 1]
    found = zip(data.test.x, data.test.y.tolist(), data.test.relevant.tolist(), strict=True)
    assert sorted((row, y, marks[: len(row)]) for row, y, marks in found) == [
        (["bad", "smell", "today"], 0, [True, True, False]),
        (["it", "smells", "good", "."], 1, [False, True, True, False]),
    ]
    assert data.notes["aspect"] == "aroma"


def test_rows_and_length_are_cut(files: Path) -> None:
    data = load("beer-lei", path=files, rows="2/1/1", length=2)
    assert (len(data.train), len(data.validation), len(data.test)) == (2, 1, 1)
    assert max(len(row) for row in data.train.x) == 2


def test_bad_folders_are_one_sentence(files: Path) -> None:
    with pytest.raises(InputError, match="say where the files are"):
        load("beer-lei")
    with pytest.raises(InputError, match=r"has no reviews.aspect1.train.txt.gz"):
        load("beer-lei", path=files, aspect="appearance")
    with pytest.raises(InputError, match="unknown aspect 'taste'"):
        load("beer-lei", path=files, aspect="taste")
    (files / "reviews.aspect2.heldout.txt").write_text("0.1 0.2\twords")
    with pytest.raises(InputError, match=r"line 1 of reviews.aspect2.heldout.txt.gz must be"):
        load("beer-lei", path=files)


@pytest.mark.parametrize("line", ["not json", "[1, 2]", '{"x": ["a"]}'])
def test_broken_annotations_are_one_sentence(files: Path, line: str) -> None:
    (files / "annotations.json").write_text(line)
    with pytest.raises(InputError, match="must hold objects with x and y"):
        load("beer-lei", path=files)


def test_a_broken_archive_is_one_sentence(files: Path) -> None:
    (files / "reviews.aspect2.train.txt.gz").write_text("this is not packed")
    with pytest.raises(InputError, match=r"cannot read reviews.aspect2.train.txt.gz"):
        load("beer-lei", path=files)


# --- in sentences, with what is planted -------------------------------------------------------------------------------

TOLD = [
    "0.9 0.8 0.5 0.5 0.5\tpours black . smells of roses . fine",
    "0.9 0.2 0.5 0.5 0.5\tpours pale . smells of socks .",
]
SEEN = {"x": ["pours", "black", ".", "smells", "good", "."], "y": [0.5, 0.9, 0.5, 0.5, 0.5], "1": [[3, 5]]}


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "beer_lei"
    place.mkdir()
    for part in ("train", "heldout"):
        (place / f"reviews.aspect2.{part}.txt").write_text("\n".join(TOLD * 100))
    (place / "annotations.json").write_text("\n".join([json.dumps(SEEN)] * 200))
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    return tmp_path


def test_sentences_end_at_full_stops(held: Path) -> None:
    data = load("beer-lei", unit="sentences")
    assert data.kind == "sentences"
    found = {" | ".join(" ".join(s) for s in row) for row in data.train.x}
    assert found == {"pours black . | smells of roses . | fine", "pours pale . | smells of socks ."}
    assert data.test.relevant.tolist() == [[False, True]] * 200
    assert load("beer-lei").test.sentence_of.tolist() == [[0, 0, 0, 1, 1, 1]] * 200


@pytest.mark.parametrize("unit", ["words", "sentences"])
def test_a_mark_before_the_first_sentence_goes_with_the_label(held: Path, unit: str) -> None:
    data = load("beer-lei", unit=unit, bias=0.8)
    for part in ("train", "validation", "test"):
        rows = data[part].x if unit == "words" else [[w for s in row for w in s] for row in data[part].x]
        told = [(row[0] == ",") == bool(y) for row, y in zip(rows, data[part].y.tolist(), strict=True)]
        assert {row[0] for row in rows} <= {".", ","}
        assert 0.7 < sum(told) / len(told) < 0.9
    if unit == "words":
        assert data.test.relevant.tolist() == [[False] * 4 + [True, True, False]] * 200
    else:
        assert data.test.x[0][0][1:] == ["pours", "black", "."]
        assert data.test.relevant.tolist() == [[False, True]] * 200
    again = load("beer-lei", unit=unit, bias=0.8)
    assert again.train.x == data.train.x


def test_skew_is_a_note_and_bad_options_are_refused(held: Path) -> None:
    assert load("beer-lei", skew=10).notes["skew"] == 10
    for wrong, told in (
        ({"unit": "pages"}, "unknown unit"),
        ({"bias": 2.0}, "bias must be"),
        ({"skew": -1}, "bias must be"),
    ):
        with pytest.raises(InputError, match=told):
            load("beer-lei", **wrong)
