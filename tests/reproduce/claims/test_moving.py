"""Maps that cannot be moved stay; those of a network are moved by training it on."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import unmask
from reproduce.claims.grounds import on, perceptron, table
from unmask import seeds
from unmask.audit.fragility import RADIUS
from unmask.models import bind, wrap
from unmask.nets import TableNet, read
from unmask.reproduce.claims.moving import fragile, moved_saliency
from unmask.training import Recipe, fit_classifier

pytestmark = pytest.mark.slow


def test_how_fragile_a_sum_is() -> None:
    """Its gradient is the same everywhere: nothing can be lost. Gradient times input orders columns by their values."""
    data, reader = table(), read(table())
    net = TableNet(reader, 2, ())
    with torch.no_grad():
        net.body[0].weight.copy_(torch.tensor([[0.0], [1.0]]).expand(2, 6))
        net.body[0].bias.zero_()
    at = on(bind(wrap(net), data), data)
    assert float(fragile(at, "gradient")["fragility"].abs().max()) == 0
    lost = torch.as_tensor(fragile(at, "gradient-x-input")["fragility"])
    toward = torch.where(at.target == 1, 1.0, -1.0)[:, None]
    best = (toward * at.x / reader.scale).sort(dim=1, descending=True).values
    near = best[:, 1] - best[:, 2] < 2 * RADIUS  # the second and the third may change places
    assert float(lost[~near].abs().max()) == 0
    assert float(lost[near].mean()) > 25


def test_training_on_moves_the_map() -> None:
    """Two columns are always 0: whatever slope the model has there, its answers are the same."""
    x = torch.cat([torch.randn(600, 4, generator=seeds.generator(0)), torch.zeros(600, 2)], 1)
    data = unmask.dataset(x, (x[:, 0] + x[:, 1] > 0).long(), kind="table", seed=0)
    start = perceptron(data)
    assert start.model.module is not None
    parts = [(split.x, split.y) for split in (data.train, data.validation)]
    fit_classifier(start.model.module, parts[0], parts[1], Recipe(epochs=20, batch=32, rate=3e-3))
    at = replace(start, memory={})
    found = {name: torch.as_tensor(v) for name, v in moved_saliency(at, "gradient+top-k").items()}
    torch.testing.assert_close(found["moved"], found["control"] - found["overlap"])
    assert float(found["moved"].mean()) > 20
    assert float(found["accuracy-lost"].mean()) < 4
    assert len(found["accuracy-lost"]) == len(data.test)
    models = dict(at.memory)
    moved_saliency(at, "occlusion+top-k")
    assert models == at.memory  # other methods ask the same models
