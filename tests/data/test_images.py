"""MNIST and Fashion-MNIST: the reader on a small file, the real sets by their counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.data import images, load
from unmask.errors import InputError

from .conftest import REAL


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    monkeypatch.setattr(images, "ROWS", {"train": 100, "test": 40})
    arrays = {}
    for part, rows in images.ROWS.items():
        y = (np.arange(rows) % 10).astype(np.uint8)
        arrays |= {f"y_{part}": y, f"x_{part}": np.broadcast_to(y[:, None, None] * 25, (rows, 28, 28)).astype(np.uint8)}
    for where in ("mnist", "fashion_mnist"):
        (tmp_path / where).mkdir()
        np.savez(tmp_path / where / f"{where}.npz", **arrays)
    return tmp_path


def test_pixels_are_scaled_and_keep_their_label(small: Path) -> None:
    made = load("mnist")
    assert (len(made.train), len(made.validation), len(made.test)) == (80, 20, 40)
    assert made.train.x.shape == (80, 1, 28, 28)
    assert (made.train.x[:, 0, 0, 0] * 255 / 25).round().long().tolist() == made.train.y.tolist()


def test_pairs_of_classes(small: Path) -> None:
    made = load("mnist-3-8", rows=(10, 4, 8))
    assert made.classes == ("3", "8")
    assert {round(float(x[0, 0, 0]) * 255 / 25) for x in made.train.x} == {3, 8}
    assert (made.test.x[:, 0, 0, 0] * 255 / 25).round().long().tolist() == [[3, 8][y] for y in made.test.y.tolist()]
    assert load("fashion-pullover-shirt").classes == ("pullover", "shirt")
    assert load("fashion-mnist", patch=4).layout.d == 49


def test_wrong_counts_and_broken_files(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "ROWS", {"train": 60000, "test": 10000})
    with pytest.raises(InputError, match="train of mnist must have 60000 rows, got 100"):
        load("mnist")
    (small / "mnist" / "mnist.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read"):
        load("mnist")


@REAL
@pytest.mark.parametrize(
    ("name", "test"), [("mnist", 2000), ("mnist-3-8", 1984), ("fashion-mnist", 2000), ("fashion-pullover-shirt", 2000)]
)
def test_real_counts(name: str, test: int) -> None:
    made = load(name)
    assert (len(made.train), len(made.validation), len(made.test)) == (4000, 1000, test)
    assert float(made.train.x.max()) == 1
    share = made.train.y.bincount().double() / 4000
    assert float((share - 1 / len(made.classes)).abs().max()) < 0.02


def test_the_hub_is_asked_where_the_folder_lacks_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DATA", raising=False)
    monkeypatch.setattr(images, "ROWS", {"train": 40, "test": 20})
    pictures = {
        n: {"image": [np.full((28, 28), i % 10) for i in range(n)], "label": [i % 10 for i in range(n)]}
        for n in (20, 40)
    }
    monkeypatch.setattr("unmask.data.hub._open", lambda identity: {"train": pictures[40], "test": pictures[20]})
    made = load("mnist")
    assert (made.test.x[:, 0, 0, 0] * 255).round().long().tolist() == made.test.y.tolist()
    monkeypatch.setattr("unmask.data.hub._open", lambda identity: {"train": pictures[40]})
    with pytest.raises(InputError, match="test of mnist must have 20 rows, got 0"):
        load("mnist")
