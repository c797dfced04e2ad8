"""The table of data sets, and what every set of it must keep to."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from importlib import import_module

import pytest
import torch

import unmask.data as data
from unmask.data.lei import Form
from unmask.data.reviews import Settings
from unmask.errors import InputError
from unmask.types import Dataset

from .conftest import every, few, loaded


@pytest.mark.parametrize("name", every())
def test_shapes_and_classes(name: str) -> None:
    made = loaded(name)
    assert isinstance(made, Dataset)
    assert made.kind == data.DATASETS[name].kind
    assert made.notes["seed"] == 0
    assert made.notes["source"]
    for part in (made.train, made.validation, made.test):
        assert len(part.x) == len(part.y) == len(part.valid) > 0
        assert part.y.dtype == torch.long
        assert 0 <= int(part.y.min()) <= int(part.y.max()) < len(made.classes)
        assert part.valid.dtype == torch.bool
        assert part.valid.any(1).all()
        if part.relevant is not None:
            assert part.relevant.shape == part.valid.shape
            assert not (part.relevant & ~part.valid).any()
        if not made.layout.is_text:
            assert part.x.dtype == torch.float32
            assert tuple(part.x.shape[1:]) == made.layout.shape
            assert part.valid.shape[1] == len(made.units)
    assert set(made.train.y.tolist()) == set(range(len(made.classes)))


@pytest.mark.slow
@pytest.mark.parametrize("name", every())
def test_same_seed_same_rows_other_seed_other_rows(name: str) -> None:
    first, (again, other) = loaded(name), (data.load(name, seed=seed, **few(name)) for seed in (0, 4))
    assert _keys(first, "train") == _keys(again, "train")
    assert _keys(first, "test") == _keys(again, "test")
    assert _keys(first, "train") != _keys(other, "train")


@pytest.mark.parametrize("name", [name for name, source in data.DATASETS.items() if source.where == "embedded"])
def test_splits_of_embedded_sets_share_no_row(name: str) -> None:
    made = loaded(name)
    parts = [set(_keys(made, part)) for part in ("train", "validation", "test")]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]


def _keys(made: Dataset, part: str) -> list[str]:
    x = made[part].x
    return [str(row) for row in (x.flatten(1).tolist() if isinstance(x, torch.Tensor) else x)]


@pytest.mark.parametrize("name", list(data.DATASETS))
def test_options_of_the_table_are_those_of_the_loader(name: str) -> None:
    module, _, function = data.DATASETS[name].path.partition(":")
    loader = getattr(import_module(f"unmask.data.{module}"), function)
    parameters = inspect.signature(loader).parameters
    options = set(data.DATASETS[name].options)
    further = {"changes": Settings, "form": Form}  # keywords that are fields of these
    named = set(parameters) - {"name", "seed", *further}
    named |= {field.name for word, of in further.items() if word in parameters for field in fields(of)}
    assert options <= named
    assert not data.DATASETS[name].bare or data.DATASETS[name].bare in options


def test_importing_is_light() -> None:
    code = "import sys, unmask.data; print(sorted({'torch', 'numpy', 'pandas', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_is_sorted_and_there() -> None:
    assert data.__all__ == sorted(data.__all__)
    for name in data.__all__:
        assert getattr(data, name) is not None


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = data.nothing  # type: ignore[attr-defined]


def test_options_after_a_colon() -> None:
    made = data.load("reviews:bias=0.8,preset=hard", n=40)
    assert made.name == "reviews:bias=0.8,preset=hard"
    assert made.notes["settings"]["bias"] == 0.8
    assert made.notes["settings"]["words"] == 80
    assert made.notes["options"] == {"bias": 0.8, "preset": "hard", "n": 40}
    assert data.load("switch:legacy=true", n=10).notes["legacy"] is True


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'digits'"):
        data.load("digit")
    with pytest.raises(InputError, match="did you mean 'imdb'"):
        data.available("imbd")


def test_unknown_option_lists_the_options() -> None:
    with pytest.raises(InputError, match="digits has no option 'n'; its options are: patch"):
        data.load("digits", n=3)
    with pytest.raises(InputError, match="its options are: none"):
        data.load("tumours:n=3")
    with pytest.raises(InputError, match="written option=value, got 'hard'"):
        data.load("reviews:hard")


def test_available_tells_where(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    assert data.available("digits") == "embedded"
    assert data.available("image-folder").startswith("yours: say where it is, image-folder:PATH or load(")
    assert data.available("beer").startswith("missing: beer is not on this machine; set UNMASK_DATA to the folder")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'pip install "unmask[hf]"' in data.available("imdb")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert data.available("imdb") == "hub"
    (tmp_path / "imdb").mkdir()  # type: ignore[operator]
    assert data.available("imdb") == "folder"


@pytest.mark.parametrize("name", ["adult", "beer", "eraser-movies", "yelp-sentences"])
def test_a_missing_set_says_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DATA", raising=False)
    with pytest.raises(InputError, match=f"{name} is not on this machine; set UNMASK_DATA"):
        data.load(name)
