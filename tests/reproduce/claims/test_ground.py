"""A ground asks each question once, about the class that the model predicts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reproduce.claims.grounds import on, perceptron, table
from unmask.audit.stability import shared
from unmask.reproduce.claims.ground import _size, ground
from unmask.reproduce.tables import CLAIM_ROWS


def test_a_question_is_asked_once() -> None:
    at = perceptron(table())
    assert at.explain("lime", {"samples": 50}) is at.explain("lime", {"samples": 50})
    other = at.explain("lime", {"samples": 50, "seed": 9})
    assert float(shared(at.explain("lime", {"samples": 50}).kept, other.kept).mean()) < 1
    assert at.explain("lime", {"samples": 50}).origin["seed"] == 0
    torch.testing.assert_close(other.target, at.model(at.x).argmax(1))


def test_another_model_is_asked_about_the_same_classes() -> None:
    data = table()
    at, other = perceptron(data), perceptron(data, seed=5)
    found = at.ask(at.make("gradient"), other.model)
    torch.testing.assert_close(found.target, at.target)
    assert not torch.equal(found.scores, at.explain("gradient").scores)
    assert on(at.model, data).memory == {}  # nothing is shared between grounds


@pytest.mark.slow
@pytest.mark.parametrize("linear", [False, True])
def test_a_trained_ground(linear: bool) -> None:
    at = ground("tumours", 6, "mean", 0, "quick", linear)
    assert at is ground("tumours", 6, "mean", 0, "quick", linear)
    assert at.model.module is not None
    assert sum(isinstance(m, nn.Linear) for m in at.model.module.modules()) == (1 if linear else 3)
    assert len(at.x) == CLAIM_ROWS["quick"]
    assert float((at.model(at.x).argmax(1) == at.y).float().mean()) > 0.9


def test_pictures_come_in_numbers_and_tables_whole() -> None:
    assert _size("digits", "quick") == _size("compas", "default") == {}
    assert _size("mnist-3-8", "default") == {"rows": (4000, 1000, 2000)}
    assert _size("mnist-3-8", "paper") == {"scale": "paper"}
