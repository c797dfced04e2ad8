"""The tables of A2R."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.data import load
from unmask.reproduce import tables_of
from unmask.reproduce.choices import RATIONALES, split_name
from unmask.reproduce.request import Request
from unmask.reproduce.tables import CONTROLS

TABLES = tables_of("a2r")


def test_every_row_is_known() -> None:
    for table in TABLES:
        assert set(table.rows) <= {*CONTROLS, *RATIONALES}
        assert set(table.published) <= set(table.rows)
        assert table.note


@pytest.mark.parametrize("table", [t for t in TABLES if t.dataset.startswith("reviews")], ids=lambda t: t.dataset)
def test_reviews_can_be_loaded_by_their_names(table) -> None:
    data = load(table.dataset, seed=0, unit="sentences", n=40)
    assert data.notes.get("skew", 0) == split_name(table.dataset)[1]
    assert data.kind == "sentences"
    assert data.test.relevant is not None


def test_published_figures_stand_where_they_belong() -> None:
    two = next(t for t in TABLES if t.dataset.endswith("bias=0.8") and t.name == "2")
    assert two.published["rnp"] == {"accuracy": 83.3, "precision": 2.6, "recall": 6.0, "f1": 3.4, "x1": 99.9}
    assert two.published["a2r"]["f1"] == 53.2
    assert next(t for t in TABLES if t.name == "4").published["a2r"] == {"precision": 48.7, "recall": 31.9, "f1": 34.9}
    assert next(t for t in TABLES if t.name == "4").published["rnp/transformer"] == {"f1": 32.2}
    assert "a2r+lam=0.1" in next(t for t in TABLES if t.name == "lambda").rows


def test_tables_on_beer_are_for_those_who_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    assert not any(t.dataset.startswith("beer") for t in Request("a2r").tables())
    (tmp_path / "beer_lei").mkdir()
    held = [t for t in Request("a2r").tables() if t.dataset.startswith("beer")]
    assert {t.name for t in held} == {"2", "3"}
    assert len(held) == 15  # two aspects skewed and biased three times each, three aspects as they are
    palate = next(t for t in held if t.dataset == "beer-lei:unit=sentences,aspect=palate,bias=0.8")
    assert palate.published["a2r"] == {"accuracy": 83.6, "precision": 47.9, "recall": 46.2, "f1": 43.5, "x1": 29.6}
    assert not any(t.dataset.startswith("beer") for t in Request("a2r", scale="quick").tables())
