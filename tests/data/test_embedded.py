"""The two sets of scikit-learn."""

from __future__ import annotations

import torch

from unmask.data import load


def test_digits_sizes_and_scale() -> None:
    made = load("digits")
    assert (len(made.train), len(made.validation), len(made.test)) == (1000, 197, 600)
    assert made.layout.shape == (1, 8, 8)
    assert made.layout.d == 64
    every = torch.cat([made.train.x, made.validation.x, made.test.x])
    assert float(every.min()) == 0
    assert float(every.max()) == 1
    assert made.classes == tuple("0123456789")


def test_digits_are_stratified() -> None:
    made = load("digits", seed=5)
    total = sum(part.y.bincount(minlength=10) for part in (made.train, made.validation, made.test))
    assert isinstance(total, torch.Tensor)
    assert (made.train.y.bincount(minlength=10) - total * 1000 / 1797).abs().max() <= 2


def test_digits_in_patches() -> None:
    made = load("digits", patch=4)
    assert made.layout.d == 4
    assert made.layout.owner[:8] == (0, 0, 0, 0, 1, 1, 1, 1)


def test_tumours_keep_their_units() -> None:
    made = load("tumours")
    assert len(made.units) == 30
    assert made.units[0] == "mean radius"
    assert float(made.train.x[:, 3].max()) > 500  # areas in their own unit
    assert made.classes == ("malignant", "benign")
    assert len(made.train) + len(made.validation) + len(made.test) == 569
    for part in (made.train, made.validation, made.test):
        assert abs(float(part.y.float().mean()) - 357 / 569) < 0.01
