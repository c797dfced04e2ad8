"""A row of a claim: the experiment of its table on its ground, numbers with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from reproduce.claims.grounds import perceptron, table
from unmask.reproduce import criticizing
from unmask.reproduce.criticizing import _told, criticized
from unmask.reproduce.critique import TABLES
from unmask.reproduce.measuring import Trial

BY_NAME = {t.name: t for t in TABLES}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The ground is a small one; what was asked for is listed."""
    found: list[tuple[Any, ...]] = []

    def ground(*wanted: Any) -> Any:
        found.append(wanted)
        return perceptron(table())

    monkeypatch.setattr(criticizing, "ground", ground)
    return found


def test_each_metric_of_the_table_with_its_interval(asked: list[tuple[Any, ...]]) -> None:
    trial = Trial(BY_NAME["axioms"], "gradient-x-input", 3, "quick")
    found = criticized(trial, Path())
    assert list(found["values"]) == list(trial.table.metrics)
    assert found["values"]["sensitivity-broken"] == [100.0, 100.0, 100.0]
    assert all(low <= value <= high for value, low, high in found["values"].values())
    assert (found["key"], found["n"]) == (trial.key, 20)
    assert asked == [("tumours", 6, "mean", 3, "quick", False)]


def test_a_linear_model_where_the_claim_is_about_one(
    asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"rank-correlation": (0.5, 0.4, 0.6)}
    monkeypatch.setattr(criticizing, "experiment", lambda name: lambda at, row: told)
    assert criticized(Trial(BY_NAME["linear-weights"], "lime", 0, "quick"), Path())["values"] == {
        "rank-correlation": [0.5, 0.4, 0.6]
    }
    assert asked[0][-1] is True


def test_attention_has_a_ground_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criticizing.deceived, "ground", lambda k, seed: (k, seed))
    assert criticizing._ground(Trial(BY_NAME["deceptive-attention"], "lam=1", 4, "quick")) == (3, 4)


def test_what_has_no_value_is_null() -> None:
    assert _told(torch.full((5,), torch.nan), 0) is None
    assert _told((float("nan"), 0.0, 1.0), 0) is None
    assert _told(torch.tensor([1.0, torch.nan, 3.0]), 0)[0] == 2  # type: ignore[index]
