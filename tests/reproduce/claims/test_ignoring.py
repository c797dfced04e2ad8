"""What never asks the model survives its loss; guided backpropagation is that of its definition."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reproduce.claims.grounds import perceptron, summing, table
from unmask.audit.evidence import SURVIVES
from unmask.errors import InputError
from unmask.models import bind, wrap
from unmask.reproduce.claims.ignoring import Guided, model_ignored
from unmask.reproduce.critique import SURVIVES as BAR


def test_what_never_asks_the_model_survives() -> None:
    found = model_ignored(perceptron(table()), "outstanding")
    assert float(found["overlap"].min()) == float(found["survives"].min()) == 100
    assert float(found["correlation"].min()) == pytest.approx(1)
    assert BAR.limit == 100 * SURVIVES


def test_gradients_do_not() -> None:
    found = model_ignored(perceptron(table()), "gradient")
    k, d = 2, 6
    torch.testing.assert_close(found["survives"], (found["overlap"] - 100 * k / d) / (1 - k / d))
    assert float(found["survives"].mean()) < 50


def test_guided_slopes_by_hand() -> None:
    data = table()
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    with torch.no_grad():
        net[0].bias.fill_(0.1)
    x, target = data.test.x[:4], torch.zeros(4, dtype=torch.long)
    found = Guided(2).fit(bind(wrap(net, outputs="logits"), data), data).explain(x, target).scores
    on = (net[0](x) > 0).float() * net[2].weight[0].clamp(min=0)
    torch.testing.assert_close(found, (on @ net[0].weight).abs().detach())


def test_guided_needs_relus() -> None:
    at = summing(table())
    with pytest.raises(InputError, match=r"no nn\.ReLU"):
        Guided(2).fit(at.model, at.data)
