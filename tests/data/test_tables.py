"""Real tables: units, labels, and columns that must not be there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from unmask.data import load, tables
from unmask.data.frames import FrameCodec
from unmask.errors import InputError

from .conftest import REAL


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    (tmp_path / "tabular").mkdir()
    recipe = tables.Table({"a": 40, "b": 10}, "income", {"<=50K": "low", ">50K": "high"})
    monkeypatch.setitem(tables.TABLES, "adult", recipe)
    frame = pd.DataFrame({"age": range(50), "job": ["?", "cook"] * 25, "income": ["<=50K", ">50K"] * 25})
    frame[:40].to_csv(tmp_path / "tabular" / "a.csv.gz", index=False)
    frame[40:].to_csv(tmp_path / "tabular" / "b.csv.gz", index=False)
    return tmp_path


def test_second_file_is_the_test(small: Path) -> None:
    made = load("adult")
    assert made.units == ("age", "job")
    assert made.groups == ((0,), (1, 2))
    assert sorted(made.test.x[:, 0].tolist()) == list(range(40, 50))
    assert (len(made.train), len(made.validation)) == (32, 8)
    assert (made.train.x[:, 2].long() == made.train.y).all()  # cooks earn more here
    assert made.frames is not None
    assert made.frames.decode(made.test.x)["job"].isin(["?", "cook"]).all()


def test_missing_broken_and_wrong_files(small: Path) -> None:
    (small / "tabular" / "b.csv.gz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as a table"):
        load("adult")
    pd.DataFrame({"age": [1], "job": ["?"], "income": [">50K"]}).to_csv(small / "tabular" / "b.csv.gz", index=False)
    with pytest.raises(InputError, match="b of adult must have 10 rows, got 1"):
        load("adult")
    with pytest.raises(InputError, match=r"german is not on this machine.*german_credit\.csv\.gz"):
        load("german")


def test_no_column_of_compas_gives_the_label_away() -> None:
    columns = tables.TABLES["compas"].columns
    for part in ("score", "recid", "custody", "jail", "event", "days", "end", "start", "screening"):
        assert not any(part in column for column in columns)
    assert "after the screening" in tables.TABLES["compas"].remark


@REAL
@pytest.mark.parametrize(
    ("name", "sizes", "units", "share"),
    [
        ("adult", (26049, 6512, 16281), 14, 0.236),
        ("compas", (4328, 1443, 1443), 8, 0.451),
        ("german", (600, 200, 200), 20, 0.3),
        ("heloc", (6275, 2092, 2092), 23, 0.522),
    ],
)
def test_real_tables(name: str, sizes: tuple[int, ...], units: int, share: float) -> None:
    made = load(name)
    assert (len(made.train), len(made.validation), len(made.test)) == sizes
    assert len(made.units) == units
    assert float(made.test.y.double().mean()) == pytest.approx(share, abs=0.002)
    assert isinstance(made.frames, FrameCodec)
    frame = made.frames.decode(made.test.x[:50])
    assert torch.equal(made.frames.encode(frame), made.test.x[:50])
    assert list(frame.columns) == list(made.units)


@REAL
def test_heloc_keeps_its_special_values() -> None:
    made = load("heloc")
    x = torch.cat([made.train.x, made.validation.x, made.test.x])
    assert int((x[:, 0] == -9).sum()) == 598
    assert "-9" in made.notes["remark"]
