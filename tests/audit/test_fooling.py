"""Maps are moved by training on, to where they shall go, at equal accuracy; the model that is given stays as it was."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor

import unmask
from audit.cases import W, linear
from unmask import seeds
from unmask.audit.fooling import Fooling, astray, fooled, least_used, saliency
from unmask.errors import InputError
from unmask.methods import make
from unmask.models import Wrapped, bind, wrap
from unmask.nets import PixelNet, TableNet, read
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset

RECIPE = Recipe(epochs=12, batch=16, rate=1e-2)


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Six columns of which four decide, and two that are always 0: of slopes there the rows say nothing."""
    x = torch.cat([torch.randn(600, 6, generator=seeds.generator(0)), torch.zeros(600, 2)], 1)
    return unmask.dataset(x, (x[:, :6] @ W > 0).long(), kind="table", seed=0)


@pytest.fixture(scope="module")
def model(data: Dataset) -> Wrapped:
    with seeds.seeded(0):
        net = TableNet(read(data), 2, (32, 32))
    parts = [(split.x, split.y) for split in (data.train, data.validation)]
    fit_classifier(net, parts[0], parts[1], Recipe(epochs=25, batch=32, rate=3e-3))
    return bind(wrap(net.eval()), data)


def maps(model: Wrapped, data: Dataset) -> Tensor:
    return saliency(model, data.test.x, data.test.y, data.layout)


def right(model: Wrapped, data: Dataset) -> float:
    return float((model(data.test.x).argmax(1) == data.test.y).float().mean())


def test_how_far_a_map_is_from_where_it_shall_be() -> None:
    h, goal = torch.tensor([[0.6, 0.3, 0.1]]), torch.tensor([[0.0, 1.0, 1.0]])
    assert astray(h, goal, "location").tolist() == pytest.approx([(1 + 0.25 + (5 / 6) ** 2) / 3])
    assert astray(h, goal, "top-k").tolist() == pytest.approx([0.4])
    assert astray(torch.zeros(1, 3), goal, "location").tolist() == pytest.approx([2 / 3])  # a flat model has no map


def test_the_map_is_that_of_the_gradient_method(model: Wrapped, data: Dataset) -> None:
    scores = make("gradient", 2).fit(model, data).explain(data.test.x, data.test.y).scores
    unsure = model(data.test.x).gather(1, data.test.y[:, None])[:, 0] < 0.999  # else the slope is rounding
    torch.testing.assert_close(
        maps(model, data)[unsure], (scores / scores.sum(1, keepdim=True))[unsure], atol=1e-5, rtol=1e-3
    )
    assert int(unsure.sum()) > 10
    torch.testing.assert_close(maps(model, data).sum(1), torch.ones(len(data.test)))  # however sure


def test_slopes_of_slopes_are_those_of_small_steps(data: Dataset) -> None:
    """The loss is trained through the map: its slope over a weight is that of a difference quotient."""
    with seeds.seeded(1):
        net = TableNet(read(data), 2, (8,)).double()
    model, x, y = bind(wrap(net, outputs="logits"), data), data.test.x[:8].double(), data.test.y[:8]
    goal, weight = (torch.arange(8) > 5).expand(8, -1).double(), net.body[0].weight
    way = torch.randn(weight.shape, generator=seeds.generator(0), dtype=torch.double)

    def missed() -> Tensor:
        return astray(saliency(model, x, y, data.layout, graph=True), goal, "location").sum()

    slope = float((torch.autograd.grad(missed(), weight)[0] * way).sum())
    ends = []
    for step in (1e-6, -1e-6):
        with torch.no_grad():
            weight += step * way
        ends.append(float(missed().detach()))
        with torch.no_grad():
            weight -= step * way
    assert abs(slope) > 0.01
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4)


@pytest.mark.slow
def test_the_map_goes_where_it_is_sent(model: Wrapped, data: Dataset) -> None:
    before = deepcopy(model.module.state_dict())  # type: ignore[union-attr]
    where = least_used(model, data, 4)
    assert not where[:4].any()  # the columns that decide
    found = fooled(model, data, Fooling(4, "location", recipe=RECIPE))
    shares = [float((h * where).sum() / h.sum()) for h in (maps(model, data), maps(found, data))]
    assert shares[1] > 2 * shares[0]
    assert right(found, data) > right(model, data) - 0.04
    after = model.module.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(after[name], value) for name, value in before.items())


@pytest.mark.slow
def test_the_map_leaves_the_units_that_are_used_most(model: Wrapped, data: Dataset) -> None:
    found, control = (fooled(model, data, Fooling(1, "top-k", lam=lam, recipe=RECIPE)) for lam in (None, 0.0))
    most = maps(model, data).argmax(1)
    stayed = [float((maps(m, data).argmax(1) == most).float().mean()) for m in (found, control)]
    assert stayed[1] > 0.8
    assert stayed[0] < 0.5
    assert right(found, data) > right(model, data) - 0.04


@pytest.mark.slow
def test_pictures_have_maps_that_move() -> None:
    x = torch.rand(120, 1, 6, 6, generator=seeds.generator(0))
    data = unmask.dataset(x, (x[:, 0, :3].mean((1, 2)) > 0.5).long(), kind="image", seed=0)
    with seeds.seeded(0):
        model = bind(wrap(PixelNet(read(data), 2, 4, 8).eval()), data)
    how = Fooling(6, "location", where=torch.arange(36) >= 30, lam=100.0, recipe=Recipe(epochs=20, batch=32, rate=3e-3))
    found = fooled(model, data, how)
    shares = [float(h[:, 30:].sum() / h.sum()) for h in (maps(model, data), maps(found, data))]
    assert shares[1] > 1.5 * shares[0]


def test_what_cannot_be_fooled_is_refused(data: Dataset) -> None:
    with pytest.raises(InputError, match="only a torch model"):
        fooled(bind(wrap(linear), data), data, Fooling(2))
    with pytest.raises(InputError, match="form must be location or top-k"):
        Fooling(2, "centre")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lam must not be below 0"):
        Fooling(2, lam=-1.0)
