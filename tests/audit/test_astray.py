"""The search for another attention with the same answer: as far as it can go, and no farther."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from audit.lookers import looking
from unmask import distances, seeds
from unmask.audit.astray import led_astray
from unmask.audit.looking import Seen, see

pytestmark = pytest.mark.slow


def seen_by(answer, valid, w):
    """Rows of which only the answer under weights is known."""
    model = SimpleNamespace(attend=lambda x: (w, x), answer=answer, module=None)
    x = torch.zeros(valid.shape, dtype=torch.long)
    return Seen(SimpleNamespace(outputs="probabilities"), model, x, valid, w, answer(x, w))


def test_attention_goes_anywhere_where_the_answer_does_not_look_at_it():
    valid = torch.arange(6) < torch.tensor([6, 4, 2])[:, None]
    w = torch.nn.functional.one_hot(torch.zeros(3, dtype=torch.long), 6).float()
    s = seen_by(lambda x, weights: torch.full((len(weights), 2), 0.5), valid, w)
    far = led_astray(s, seeds.generator(0))
    assert float(far.min()) > 0.6  # log 2 is .693


def test_attention_cannot_go_where_the_answer_is_the_attention():
    valid = torch.ones(3, 2, dtype=torch.bool)
    w = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])
    s = seen_by(lambda x, weights: weights, valid, w)
    far = led_astray(s, seeds.generator(0))
    most = max(
        float(distances.jsd(w[i : i + 1], w[i : i + 1] + d, valid[:1]))
        for i in range(3)
        for d in (torch.tensor([[0.05, -0.05]]), torch.tensor([[-0.05, 0.05]]))
    )
    assert float(far.max()) <= most + 1e-6
    assert torch.equal(far, led_astray(s, seeds.generator(0)))


def test_there_is_one_value_for_each_row_and_nothing_else_is_moved():
    case = looking("honest", sharp=3.0)
    before = [p.clone() for p in case.model.module.parameters()]
    assert led_astray(see(case), seeds.generator(1)).shape == case.target.shape
    for p, old in zip(case.model.module.parameters(), before, strict=True):
        assert p.grad is None
        assert torch.equal(p, old)
