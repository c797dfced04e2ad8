"""One row about rationales, measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from data.conftest import REAL
from unmask.data import load
from unmask.reproduce import rationalizing, tables_of
from unmask.reproduce.measuring import Trial
from unmask.reproduce.rationalizing import locked, rationalized
from unmask.types import Dataset

BIASED = next(t for t in tables_of("a2r") if t.name == "2" and t.dataset.endswith("bias=0.8"))
MOVIES = next(t for t in tables_of("a2r") if t.name == "4")


def test_locked_is_another_kind_of_sentence_than_the_label_s() -> None:
    test = load("reviews", seed=1, n=80, unit="sentences").test
    assert not locked(test, test.relevant)
    first = torch.zeros_like(test.valid)
    first[:, 0] = True  # appearance opens
    assert locked(test, first)
    assert locked(test, torch.zeros_like(test.valid))  # nothing at all


def test_controls_are_measured_by_the_definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rationalizing.REVIEW_ROWS, "quick", 80)
    rationalizing._rows.cache_clear()
    found = rationalized(Trial(BIASED, "first-k", 0, "quick"), tmp_path)["values"]
    rationalizing._rows.cache_clear()
    assert found["x1"] == [100.0, 100.0, 100.0]
    assert found["locked"][0] == 100.0
    assert found["f1"][0] == pytest.approx(0.0)  # the label's aspect never opens a review
    assert "accuracy" not in found


@pytest.mark.slow
def test_a_model_is_trained_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rationalizing.REVIEW_ROWS, "quick", 120)
    rationalizing._rows.cache_clear()
    found = rationalized(Trial(BIASED, "a2r", 0, "quick"), tmp_path)
    rationalizing._rows.cache_clear()
    assert set(found["values"]) == set(BIASED.metrics)
    assert len(found["curve"]) == 8
    assert found["values"]["accuracy"][0] > 50
    assert found["n"] == 30


@REAL
@pytest.mark.slow
def test_position_alone_reaches_the_published_f1_on_movies(tmp_path: Path) -> None:
    last = rationalized(Trial(MOVIES, "last-k", 0, "default"), tmp_path)["values"]
    rationalizing._rows.cache_clear()
    assert last["f1"][0] == pytest.approx(37, abs=1)
    assert last["f1"][0] > MOVIES.published["a2r"]["f1"]
    assert last["f1-original"][0] == pytest.approx(31.3, abs=0.1)  # against the marks that ERASER replaced


def test_a_transformer_learns_from_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rationalizing.REVIEW_ROWS, "quick", 80)
    monkeypatch.setitem(rationalizing.SLOW_ROWS, "reviews", 7)
    rationalizing._rows.cache_clear()
    seen = []

    def stop(data: Dataset, k: int, **_: object) -> None:
        seen.append(len(data.train))
        raise KeyboardInterrupt

    monkeypatch.setattr(rationalizing.api, "rationalize", stop)
    table = next(t for t in tables_of("a2r") if t.name == "3")
    for row in ("rnp/transformer", "rnp"):
        with pytest.raises(KeyboardInterrupt):
            rationalized(Trial(table, row, 0, "quick"), tmp_path)
    rationalizing._rows.cache_clear()
    assert seen[0] == 7 < seen[1]


def test_beer_reviews_are_measured_where_they_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "beer_lei"
    place.mkdir()
    told = [f"0.5 {0.9 if i % 2 else 0.1} 0.5 0.5 0.5\tpours {i} . smells {i % 2} ." for i in range(40)]
    for part in ("train", "heldout"):
        (place / f"reviews.aspect2.{part}.txt").write_text("\n".join(told))
    seen = {"x": ["pours", ".", "smells", "1", "."], "y": [0.5, 0.9, 0.5, 0.5, 0.5], "1": [[2, 4]]}
    (place / "annotations.json").write_text("\n".join([json.dumps(seen)] * 9))
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    table = next(t for t in tables_of("a2r") if t.dataset == "beer-lei:unit=sentences,aspect=aroma,bias=0.8")
    rationalizing._rows.cache_clear()
    first, last = (rationalized(Trial(table, row, 0, "quick"), tmp_path) for row in ("first-k", "last-k"))
    rationalizing._rows.cache_clear()
    assert first["n"] == 9
    assert (first["values"]["x1"][0], first["values"]["locked"][0], first["values"]["f1"][0]) == (100, 100, 0)
    assert (last["values"]["x1"][0], last["values"]["locked"][0], last["values"]["f1"][0]) == (0, 0, 100)
