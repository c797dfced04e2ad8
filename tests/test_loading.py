"""Explainers from disk: what is refused, what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from explainers.samples import fitted, model, task, unfitted
from unmask.data.own import dataset
from unmask.errors import InputError
from unmask.loading import load
from unmask.masking import REMOVALS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fitted("l2x", "words").save(tmp_path / "kept")
    return tmp_path / "kept"


def change(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "explainer.json"
    facts = json.loads(path.read_text())
    edit(facts)
    path.write_text(json.dumps(facts))


def test_the_readings_of_the_fit_are_kept(folder: Path) -> None:
    readings = fitted("l2x", "words").readings_
    assert readings["readings"]["fs-m"] > 0
    assert json.loads((folder / "explainer.json").read_text())["readings"] == readings
    again = load(folder, model("words"))
    assert again.readings_ == readings
    assert again.explain(task("words").test.x).origin["readings"] == readings["readings"]


def test_what_the_fit_took_is_kept_and_older_folders_do_not_say(folder: Path) -> None:
    assert load(folder, model("words")).seconds_ == fitted("l2x", "words").seconds_ > 0
    change(folder, lambda facts: facts.pop("seconds"))
    assert not hasattr(load(folder, model("words")), "seconds_")


def test_a_method_without_readings_comes_back_without(tmp_path: Path) -> None:
    fitted("first-k", "words").save(tmp_path / "kept")
    assert not hasattr(load(tmp_path / "kept", model("words")), "readings_")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda facts: facts.update(format=1), "has format 1, this version reads format 2; save it again"),
        (lambda facts: facts.pop("format"), "has format None, this version reads format 2"),
        (lambda facts: facts.update(colour="red"), r"does not know \(colour\); upgrade unmask"),
        (lambda facts: facts.pop("classes"), r"does not know \(classes\)"),
        (lambda facts: facts.pop("readings"), r"does not know \(readings\)"),
        (lambda facts: facts.update(method="crystal-ball"), r"does not know \(crystal-ball\); upgrade unmask"),
        (lambda facts: facts["settings"].update(colour="red"), r"does not know \(colour\); upgrade unmask"),
        (lambda facts: facts["settings"].pop("k"), r"does not know \(k\); upgrade unmask"),
    ],
)
def test_what_this_version_does_not_know_is_refused(folder: Path, edit: Any, said: str) -> None:
    change(folder, edit)
    with pytest.raises(InputError, match=said):
        load(folder, model("words"))


@pytest.mark.parametrize("text", ["{", "", "\x00"])
def test_broken_json_is_refused(folder: Path, text: str) -> None:
    (folder / "explainer.json").write_text(text)
    with pytest.raises(InputError, match=r"explainer\.json is not valid JSON .*; expected a saved explainer there"):
        load(folder)


@pytest.mark.parametrize("text", ["[]", "null", '"l2x"'])
def test_json_of_something_else_is_refused(folder: Path, text: str) -> None:
    (folder / "explainer.json").write_text(text)
    with pytest.raises(InputError, match="has format None"):
        load(folder)


def test_a_folder_without_an_explainer_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"cannot read .*; expected a saved explainer there"):
            load(place)


def test_tensors_that_cannot_be_read_are_refused(folder: Path) -> None:
    (folder / "tensors.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match=r"cannot read .*tensors\.safetensors .*; save the explainer again"):
        load(folder)
    (folder / "tensors.safetensors").unlink()
    with pytest.raises(InputError, match=r"cannot read .*tensors\.safetensors .*; save the explainer again"):
        load(folder)


@pytest.mark.parametrize(("removal", "kind"), [(name, kind) for name, way in REMOVALS.items() for kind in way.kinds])
def test_every_removal_comes_back(removal: str, kind: str, tmp_path: Path) -> None:
    explainer = unfitted("occlusion", removal=removal).fit(model(kind), task(kind))
    explainer.save(tmp_path / "kept")
    again = load(tmp_path / "kept", model(kind))
    assert again.task_.removal.name == removal
    assert torch.equal(again.explain(task(kind).test.x).scores, explainer.explain(task(kind).test.x).scores)


def test_the_model_may_name_its_classes_in_another_order(tmp_path: Path) -> None:
    """Classes given as high, low; scikit-learn sorts them the same way only by chance, here low comes first in data."""
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    names = ["low" if value < 0 else "high" for value in x[:, 0].tolist()]
    data = dataset(x, names, kind="table", classes=("low", "high"))
    estimator = LogisticRegression().fit(x.numpy(), names)  # its columns: high, low
    explainer = unfitted("occlusion", 1).fit(estimator, data)
    said = [data.classes[c] for c in explainer.explain(x).target]
    assert said == estimator.predict(x.numpy()).tolist()
    explainer.save(tmp_path / "kept")
    again = load(tmp_path / "kept", estimator).explain(x)
    assert [data.classes[c] for c in again.target] == said
    assert torch.equal(again.scores, explainer.explain(x).scores)


def test_a_model_of_other_classes_is_refused(folder: Path) -> None:
    estimator = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="knows 2 classes but the data have 3"):
        load(folder, estimator)
