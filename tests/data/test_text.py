"""Labelled text sets: the reader on a small folder, the real sets by their counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unmask.data import load, text
from unmask.errors import InputError

from .conftest import REAL
from .folders import write_jsonl

EMOTION = {"train": 40, "dev": 8, "test": 12}
IMDB = {"train": 50, "test": 20}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    for name, where, files in (("emotion", "tweeteval_emotion", EMOTION), ("imdb", "imdb", IMDB)):
        monkeypatch.setitem(text.TEXTS, name, replace(text.TEXTS[name], files=files))
        classes = len(text.TEXTS[name].classes)
        for part, rows in files.items():
            records = [{"text": f"{part} {i} a b c", "label": i % classes} for i in range(rows)]
            write_jsonl(tmp_path / where / f"{part}.jsonl.gz", records)
    return tmp_path


def test_own_splits_are_kept(small: Path) -> None:
    made = load("emotion")
    assert (len(made.train), len(made.validation), len(made.test)) == (40, 8, 12)
    assert {row[0] for row in made.validation.x} == {"dev"}
    for row, label in zip(made.test.x, made.test.y.tolist(), strict=True):
        assert int(row[1]) % 4 == label


def test_validation_comes_from_training_rows(small: Path) -> None:
    made = load("imdb")
    assert (len(made.train), len(made.validation), len(made.test)) == (40, 10, 20)
    assert {row[0] for row in made.validation.x} == {"train"}
    assert not {tuple(row) for row in made.train.x} & {tuple(row) for row in made.validation.x}
    assert len(load("imdb:rows=6/4/2").train) == 6
    assert len(load("imdb", rows=(6, 4, 2)).validation) == 4


def test_only_some_classes(small: Path) -> None:
    made = load("emotion:anger-sadness")
    assert made.name == "emotion:anger-sadness"
    assert made.classes == ("anger", "sadness")
    for row, label in zip(made.train.x, made.train.y.tolist(), strict=True):
        assert int(row[1]) % 4 == 3 * label
    with pytest.raises(InputError, match="unknown class 'rage'"):
        load("emotion:rage-joy")
    with pytest.raises(InputError, match="at least two classes"):
        load("emotion:joy")


def test_long_texts_are_cut_at_the_named_end(small: Path) -> None:
    head, tail = load("imdb", length=2), load("imdb", length=2, truncate="tail")
    assert head.train.x[0][0] == "train"
    assert tail.train.x[0] == ["b", "c"]
    assert tail.notes["truncate"] == "tail"
    assert head.notes["length"] == 2


def test_empty_texts_are_left_out_and_counted(small: Path) -> None:
    records = [{"text": " " if i < 3 else f"train {i}", "label": i % 2} for i in range(50)]
    write_jsonl(small / "imdb" / "train.jsonl.gz", records)
    made = load("imdb")
    assert len(made.train) + len(made.validation) == 47
    assert made.notes["empty texts left out"] == 3
    assert all(len(row) for row in made.train.x)


def test_wrong_count_is_refused(small: Path) -> None:
    write_jsonl(small / "imdb" / "train.jsonl.gz", [{"text": "a", "label": 0}])
    with pytest.raises(InputError, match="train of imdb must have 50 rows, got 1"):
        load("imdb")


def test_the_hub_is_asked_where_the_folder_lacks_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DATA", raising=False)
    monkeypatch.setitem(text.TEXTS, "imdb", replace(text.TEXTS["imdb"], files=IMDB))
    asked: list[str] = []

    def fake(identity: str) -> dict[str, Any]:
        asked.append(identity)
        return {
            s: {"text": [f"{s} {i}" for i in range(n)], "label": [i % 2 for i in range(n)]} for s, n in IMDB.items()
        }

    monkeypatch.setattr("unmask.data.hub._open", fake)
    made = load("imdb")
    assert asked == ["stanfordnlp/imdb"]
    assert len(made.test) == 20
    monkeypatch.setattr("unmask.data.hub._open", lambda identity: {"train": {"text": ["a"], "label": [0]}})
    with pytest.raises(InputError, match="must have"):
        load("imdb")


@REAL
@pytest.mark.parametrize(
    ("name", "sizes", "balance"),
    [
        ("emotion", (3257, 374, 1421), [0.393, 0.252, 0.087, 0.269]),
        ("emotion:anger-joy", (2108, 257, 916), [0.609, 0.391]),
        ("hate", (8993, 999, 2970), [0.578, 0.422]),
        ("imdb", (8000, 2000, 4000), [0.5, 0.5]),
        ("rotten-tomatoes", (8530, 1066, 1066), [0.5, 0.5]),
        ("sst2", (6920, 872, 1821), [0.499, 0.501]),
        ("sst2-glue", (8000, 2000, 872), [0.491, 0.509]),
        ("sst5", (8544, 1101, 2210), [0.126, 0.286, 0.176, 0.231, 0.181]),
        ("yelp-sentences", (8000, 2000, 4000), None),
    ],
)
def test_real_counts_and_balance(name: str, sizes: tuple[int, ...], balance: list[float] | None) -> None:
    made = load(name)
    assert (len(made.train), len(made.validation), len(made.test)) == sizes
    assert max(len(row) for row in made.test.x) <= 400
    if balance is not None:
        got = made.test.y.bincount(minlength=len(made.classes)) / len(made.test)
        assert got.tolist() == pytest.approx(balance, abs=0.002)


@REAL
def test_truncation_keeps_the_words_of_the_other_end() -> None:
    rows = (5, 5, 200)
    head, tail, whole = (
        load("imdb", rows=rows, length=length, truncate=end).test.x
        for length, end in ((50, "head"), (50, "tail"), (None, "head"))
    )
    for first, last, full in zip(head, tail, whole, strict=True):
        assert first == full[:50]
        assert last == full[-50:]
    assert "br" not in {word for row in whole for word in row}
