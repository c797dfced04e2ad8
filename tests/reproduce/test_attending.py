"""Rows about attention: trained as their name says, measured on the rows they learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from attention.planted import corpus, shortcut
from unmask.attention.schemes import Plain
from unmask.data import available
from unmask.models.attending import attentive, looked
from unmask.reproduce import attending
from unmask.reproduce.attending import attended
from unmask.reproduce.attentive import ATTENDING, REVIEWS
from unmask.reproduce.measuring import SCHEMES, Trial
from unmask.reproduce.shortcuts import TABLES
from unmask.reproduce.tables import SCALES, made
from unmask.training import Recipe

pytestmark = pytest.mark.slow

ONE, TWO = TABLES[:2]
REVIEWED = 200


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reviews are those of the small corpus, and two epochs are enough."""
    net = shortcut()
    found = corpus(REVIEWED), net.reader, net.embedding.table.weight.detach()
    monkeypatch.setattr(attending, "_reviews", lambda dataset, seed, scale: found)
    monkeypatch.setattr(
        "unmask.reproduce.attentive._attending", lambda method, scale: Recipe(epochs=2, batch=64, rate=2e-3)
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("row", sorted(ATTENDING))
def test_every_row_is_a_scheme_with_settings_it_knows(row: str, scale: Any) -> None:
    method, settings = made(f"{row}/pooling", ONE, scale, 7)
    scheme = SCHEMES[method](**settings)
    assert (scheme.recipe.seed, scheme.recipe.optimizer, scheme.select) == (7, "rmsprop", False)


@pytest.mark.parametrize("row", [*ONE.rows, *TWO.rows])
def test_every_row_is_measured(row: str, small: None) -> None:
    found = attended(Trial(TWO if "+" in row else ONE, row, 0, "quick"), Path())
    asked = {"accuracy"} if row.startswith("none") else {"accuracy", "constants"}
    assert set(found["values"]) == asked
    assert all(low <= value <= high for value, low, high in found["values"].values())
    assert found["n"] == len(corpus(REVIEWED).train)
    assert ("weights" in found["readings"]) == ("weighting" in row)


def test_the_values_are_those_of_the_definitions(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[Plain] = []

    def made_by(**settings: Any) -> Plain:
        fitted.append(Plain(**settings))
        return fitted[0]

    monkeypatch.setitem(SCHEMES, "plain", made_by)
    found = attended(Trial(ONE, "attention/pooling", 3, "quick"), Path())["values"]
    model, train = fitted[0].model_, corpus(REVIEWED).train
    assert model.module is not None
    x = model.feed(train.x)
    raw, weights = looked(attentive(model.module, x[:4]), x)
    assert found["accuracy"][0] == pytest.approx(100 * float((raw.argmax(1) == train.y).float().mean()), abs=0.01)
    assert found["constants"][0] == pytest.approx(100 * float(weights[:, :4].sum(1).mean()), abs=0.01)
    torch.testing.assert_close(weights.sum(1), torch.ones(len(train)))


def test_other_settings_are_another_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def key() -> str:
        return Trial(TWO, "attention+weighting/rcnn", 0, "quick").key

    before = key()
    monkeypatch.setitem(REVIEWS, "quick", 3000)
    assert key() != before
    monkeypatch.undo()
    assert key() == before
    monkeypatch.setitem(ATTENDING, "attention+weighting", ("weighting", {"noise": 0.5}))
    assert key() != before


@pytest.mark.slow
@pytest.mark.skipif(available("imdb") != "folder", reason="needs UNMASK_DATA with imdb")
def test_reviews_come_with_frozen_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REVIEWS, "quick", 200)
    monkeypatch.setattr(attending, "UNSEEN", 50)
    data, reader, vectors = attending._reviews.__wrapped__("imdb", 100, "quick")
    assert reader.vocabulary is not None
    assert (len(data.train), len(data.validation)) == (200, 50)
    assert vectors.shape == (len(reader.vocabulary), 100)
    ids = reader.prepare(data.train.x)
    norms = vectors.norm(dim=1)[ids[ids > 0]]
    assert float((norms > 1).float().mean()) > 0.85  # words with a vector of GloVe; the others have small ones
