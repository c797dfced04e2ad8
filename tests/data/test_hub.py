"""Sets of the hub: the conversion always, the package itself where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unmask.data import from_hub, hub
from unmask.errors import InputError


def table(start: int, n: int) -> dict[str, list[Any]]:
    return {"sentence": [f"Row {start + i}." for i in range(n)], "label": [i % 2 for i in range(n)]}


def test_splits_are_kept() -> None:
    made = hub.convert({"train": table(0, 10), "validation": table(10, 4), "test": table(14, 6)})
    assert made.kind == "words"
    assert [row[1] for row in made.train.x] == [str(i) for i in range(10)]
    assert [row[1] for row in made.test.x] == [str(i) for i in range(14, 20)]
    assert made.train.y.tolist() == [0, 1] * 5


def test_lacking_splits_come_from_the_training_rows() -> None:
    made = hub.convert({"train": table(0, 20), "test": table(20, 6)})
    assert (len(made.train), len(made.validation), len(made.test)) == (16, 4, 6)
    assert {int(row[1]) for row in made.validation.x} <= set(range(20))
    alone = hub.convert({"train": table(0, 20)})
    assert (len(alone.train), len(alone.validation), len(alone.test)) == (12, 4, 4)
    for part in (alone.train, alone.validation, alone.test):
        assert [int(row[1]) % 2 for row in part.x] == part.y.tolist()


def test_class_names_of_the_feature() -> None:
    class Labels:
        names = ("bad", "good")

    class Named(dict[str, list[Any]]):
        column_names = ("sentence", "label")
        features = {"label": Labels()}  # noqa: RUF012

    assert hub.convert({"train": Named(table(0, 20))}).classes == ("bad", "good")


def test_missing_columns_and_splits() -> None:
    with pytest.raises(InputError, match="unknown column 'stars'"):
        hub.convert({"train": table(0, 4)}, label="stars")
    with pytest.raises(InputError, match="unknown column 'sentences'; did you mean 'sentence'"):
        hub.convert({"train": table(0, 4)}, text="sentences")
    with pytest.raises(InputError, match="expected a split named 'train', got all"):
        hub.convert({"all": table(0, 4)})


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(InputError, match=r'some/set needs the package datasets; run pip install "unmask\[hf\]"'):
        from_hub("some/set")
    with pytest.raises(InputError, match=r"imdb is not on this machine.*unmask\[hf\]"):
        hub.columns("imdb", "imdb", "stanfordnlp/imdb", ("text", "label"))


def test_a_set_without_a_public_copy_is_missing() -> None:
    with pytest.raises(InputError, match="beer is not on this machine"):
        hub.columns("beer", "beer", "", ("text", "label"))


def test_folder_written_by_the_package(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets, of the extra hf, is not installed")
    parts = {"train": datasets.Dataset.from_dict(table(0, 20)), "test": datasets.Dataset.from_dict(table(20, 6))}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "small"))
    made = from_hub(str(tmp_path / "small"))
    assert made.name == "small"
    assert (len(made.train), len(made.validation), len(made.test)) == (16, 4, 6)
    with pytest.raises(InputError, match="unknown column"):
        from_hub(str(tmp_path / "small"), text="nothing")
