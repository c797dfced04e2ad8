"""The folder of a study: what is in it, what must not be in the page, what is refused."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import unmask
from study import samples
from unmask.errors import InputError

TARGET = [1, 0, 1, 0]


def one() -> tuple[unmask.Dataset, unmask.Explanation]:
    data = samples.texts()
    return data, samples.explained(data, [[1], [0, 2], [0], [1]], TARGET)


def embedded(place: Path) -> dict[str, Any]:
    page = (place / "index.html").read_text("utf-8")
    found = re.search(r'<script type="application/json" id="study">(.*?)</script>', page, re.S)
    assert found is not None
    told: dict[str, Any] = json.loads(found.group(1))
    return told


def key_of(place: Path) -> dict[str, Any]:
    key: dict[str, Any] = json.loads((place / "key.json").read_text("utf-8"))
    return key


def test_every_file_tells_the_same_items(tmp_path: Path) -> None:
    data, e = one()
    place = unmask.export_study(e, data, tmp_path / "study")
    assert sorted(file.name for file in place.iterdir()) == ["index.html", "items.csv", "key.json"]
    key, told = key_of(place), embedded(place)
    assert key["classes"] == told["classes"] == list(samples.CLASSES)
    assert key["study"] == told["study"]
    with (place / "items.csv").open(newline="") as lines:
        listed = {row["item"]: row["shown"] for row in csv.DictReader(lines)}
    assert listed == {item["id"]: item["text"] for item in told["items"]}
    assert list(listed) == list(key["items"]) == [f"item-{i:04d}" for i in range(1, 5)]
    shown = ["… good …", "not … good …", "bad …", "… , …"]
    for item, facts in key["items"].items():
        assert listed[item] == shown[facts["row"]]
        assert facts["answer"] == samples.CLASSES[TARGET[facts["row"]]]
        assert facts["explanation"] == "by-hand"


def test_the_page_holds_nothing_of_the_key(tmp_path: Path) -> None:
    data, e = one()
    place = unmask.export_study({"secret-method": e}, data, tmp_path / "study")
    page = (place / "index.html").read_text("utf-8")
    assert "secret-method" not in page
    for item in embedded(place)["items"]:
        assert set(item) == {"id", "text", "units"}
    assert "__STUDY__" not in page
    assert not re.search(r"https?://|src=|href=[\"']", page)


def test_markup_in_the_data_stays_text(tmp_path: Path) -> None:
    data = samples.made(
        [["plain"]] * 4 + [["</script><script>alert(1)</script>"], ["__STUDY__"], ["c"], ["d"]], "words"
    )
    place = unmask.export_study(samples.explained(data, [[0]] * 4, TARGET), data, tmp_path / "study")
    assert (place / "index.html").read_text("utf-8").count("<script") == 2
    assert {item["text"] for item in embedded(place)["items"]} == {
        "</script><script>alert(1)</script>",
        "__STUDY__",
        "c",
        "d",
    }


def test_the_seed_decides_rows_and_order(tmp_path: Path) -> None:
    data, e = one()
    first, again, other = (
        key_of(unmask.export_study(e, data, tmp_path / name, n=3, seed=seed))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again
    assert len(first["items"]) == 3
    orders = {tuple(item["row"] for item in key["items"].values()) for key in (first, other)}
    assert len(orders) == 2


def test_explanations_are_mixed_in_rounds(tmp_path: Path) -> None:
    x = [[f"w{i}", f"v{i}"] for i in range(40)]
    parts = {"train": [0, 1], "validation": [2, 3], "test": list(range(4, 40))}
    data = unmask.dataset(x, [0, 1] * 20, split=parts)
    target = [0, 1] * 18
    given = {name: samples.explained(data, [[unit]] * 36, target) for name, unit in (("first", 0), ("last", 1))}
    key = key_of(unmask.export_study(given, data, tmp_path / "study", n=30))
    facts = list(key["items"].values())
    assert len(facts) == 60
    rounds = [facts[:30], facts[30:]]
    for items in rounds:
        assert len({item["row"] for item in items}) == 30  # no row comes back before all have come
        assert {item["explanation"] for item in items} == {"first", "last"}
    assert {(item["row"], item["explanation"]) for item in facts} == {
        (item["row"], name) for item in facts for name in given
    }


def test_pictures_are_files_and_in_the_page(tmp_path: Path) -> None:
    data = samples.pictures()
    e = samples.explained(data, [[0, 1]] * 4, TARGET)
    place = unmask.export_study(e, data.test, tmp_path / "study", n=2)
    names = sorted(file.name for file in (place / "pictures").iterdir())
    assert names == ["item-0001.png", "item-0002.png"]
    assert all(set(item) == {"id", "picture"} for item in embedded(place)["items"])
    assert "pictures/item-0002.png" in (place / "items.csv").read_text("utf-8")


def test_a_new_study_never_replaces_answers_or_strange_folders(tmp_path: Path) -> None:
    data, e = one()
    place = unmask.export_study(e, data, tmp_path / "study")
    assert unmask.export_study(e, data, place, seed=5) == place
    (place / "answers-ann.csv").write_text("")
    with pytest.raises(InputError, match="holds answers, which a new study would replace"):
        unmask.export_study(e, data, place)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="was not written by this command"):
        unmask.export_study(e, data, tmp_path / "other")


def test_mistakes(tmp_path: Path) -> None:
    data, e = one()
    few, bare = e.rows(torch.arange(3)), replace(e, classes=(), layout=None, x=None)
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (e, data, {"n": 0}, "n is the number of rows to show"),
        ({}, data, {}, "expected an Explanation, or names and their Explanations, got none"),
        (3, data, {}, "got int"),
        ({"a": e.scores}, data, {}, "'a' must be an Explanation .* got Tensor"),
        (e, [1, 2], {}, "expected the data set or the split that was explained, got list"),
        (few, data, {}, r"must explain the split's rows and units, \(4, 5\), got \(3, 5\)"),
        (replace(e, x=[*e.x[:3], ["other"]]), data, {}, "explains other rows than those of the split"),
        (bare, data.test, {}, "give the whole data set, not a split"),
        (replace(e, target=e.target + 1), data, {}, "explains class 2 of 2"),
        ({"a": e, "b": replace(e, target=1 - e.target)}, data, {}, "'a' and 'b' explain different answers in row 0"),
    ]
    for explanation, source, options, words in cases:
        with pytest.raises(InputError, match=words):
            unmask.export_study(explanation, source, tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()
    assert unmask.export_study(bare, data, tmp_path / "study").is_dir()
