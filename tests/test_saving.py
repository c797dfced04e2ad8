"""Explainers on disk: what is written, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from explainers.samples import fitted, model, unfitted
from unmask.errors import InputError, NotFittedError
from unmask.loading import load
from unmask.task import settings_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fitted("l2x", "words").save(tmp_path / "kept")
    return tmp_path / "kept"


def test_only_tensors_and_json_are_written(folder: Path) -> None:
    facts, tensors = json.loads((folder / "explainer.json").read_text()), load_file(folder / "tensors.safetensors")
    assert facts["format"] == 2
    assert facts["method"] == "l2x"
    assert facts["settings"] == settings_of(fitted("l2x", "words"))
    assert facts["vocabulary"] == list(fitted("l2x", "words").task_.reader.vocabulary.words)
    assert {name.partition(".")[0] for name in tensors} == {"selector_", "approximator_", "task"}


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    with pytest.raises(InputError, match="was not written by this command; choose another name"):
        fitted("first-k", "table").save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_an_own_folder_is_replaced(folder: Path) -> None:
    fitted("first-k", "table").save(folder)
    assert load(folder, model("table")).method == "first-k"
    assert list(folder.parent.iterdir()) == [folder]


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    fitted("first-k", "table").save(str(tmp_path))
    assert load(str(tmp_path)).method == "first-k"


def test_nothing_is_saved_before_it_is_fitted(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="only a fitted explainer can be saved"):
        unfitted("l2x").save(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
