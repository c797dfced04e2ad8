"""Data and model of a table: explainers and judges never share rows where there are enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unmask.data import available
from unmask.reproduce import references
from unmask.reproduce.references import reference
from unmask.reproduce.tables import Table

DIGITS = Table("t", "digits", "image", 8, "zero", ("fs-m",), ("random",), small=True)
PIXELS = Table("t", "mnist-3-8", "image", 25, "zero", ("fs-m",), ("random",))


@pytest.mark.slow
def test_the_model_is_trained_once(tmp_path: Path) -> None:
    first = reference(DIGITS, 0, "default", tmp_path)
    stamp = [(path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()]
    reference.cache_clear()
    again = reference(DIGITS, 0, "default", tmp_path)
    assert [(path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()] == stamp
    assert torch.equal(first.model(first.data.test.x), again.model(again.data.test.x))
    assert first.model.details["test accuracy"] > 0.9
    assert first.apart is first.data  # a small set has no rows to spare


@pytest.mark.slow
@pytest.mark.skipif(available("mnist-3-8") != "folder", reason="needs UNMASK_DATA with mnist")
def test_judges_have_rows_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(references.RECIPES, "image", replace(references.RECIPES["image"], epochs=1))
    monkeypatch.setattr(references, "QUICK_EPOCHS", 1)
    found = reference(PIXELS, 0, "quick", tmp_path)
    assert len(found.data.train) == references.SIZES["image", "quick"][0]
    assert (len(found.apart.train), len(found.apart.validation)) == (2000, 500)
    own = {tuple(row) for row in found.data.train.x.flatten(1).mul(255).round().int().tolist()}
    others = {tuple(row) for row in found.apart.train.x.flatten(1).mul(255).round().int().tolist()}
    assert len(own & others) < 3  # a few pictures of the set are there twice
    assert torch.equal(found.data.test.x, found.apart.test.x)
