"""Accuracy, mass and what is left without the words are those of their definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from unmask.attention.deceiving import Deceptive
from unmask.reproduce.claims import deceived
from unmask.reproduce.claims.deceived import HIDDEN, deceptive_attention, ground, marks, sentences, weights

pytestmark = pytest.mark.slow


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deceived, "REVIEWS", 240)
    monkeypatch.setattr(deceived, "HONEST", replace(deceived.HONEST, epochs=12, rate=5e-3))
    monkeypatch.setattr(Deceptive, "recipe", replace(Deceptive.recipe, epochs=2))


def test_the_two_words_are_found_where_they_stand() -> None:
    assert marks([["he", "was"], ["so", "did", "she"]]).tolist() == [[True, False, False], [False, False, True]]
    with_them = [word for row in sentences(0).test.x for word in row if word in HIDDEN]
    assert with_them == []


def test_the_numbers_are_those_of_the_definitions(few: None) -> None:
    at = ground.__wrapped__(3, 0)
    honest = {name: torch.as_tensor(v) for name, v in deceptive_attention(at, "honest").items()}
    assert set(honest) == {"accuracy", "mass", "without"}
    torch.testing.assert_close(honest["accuracy"], 100 * (at.target == at.y).float())
    by_hand = [
        sum(w for w, word in zip(row, words, strict=False) if word in HIDDEN)
        for row, words in zip(weights(at.model, at.x).tolist(), at.x, strict=True)
    ]
    torch.testing.assert_close(honest["mass"], 100 * torch.tensor(by_hand))
    assert float(honest["accuracy"].mean()) > 90
    assert float(honest["without"].mean()) < 75
    lie = {name: torch.as_tensor(v) for name, v in deceptive_attention(at, "lam=1").items()}
    torch.testing.assert_close(lie["accuracy-lost"], honest["accuracy"] - lie["accuracy"])
    assert float(lie["mass"].mean()) < float(honest["mass"].mean())
