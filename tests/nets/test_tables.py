"""Columns: a hidden or a missing value is the centre."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nets.samples import GROUPED, SETS
from unmask.nets import Reader, TableNet, TableSelector, read
from unmask.nets.tables import standard
from unmask.seeds import seeded

READER = Reader(GROUPED, torch.arange(5.0), torch.tensor([1.0, 2.0, 4.0, 1.0, 0.5]))


def test_values_are_centred_scaled_and_hidden_unit_by_unit() -> None:
    x = torch.tensor([[1.0, 5.0, 6.0, 3.5, 5.0]])
    z = standard(x, READER, READER.centre, READER.scale, None)
    assert z.tolist() == [[1.0, 2.0, 1.0, 0.5, 2.0]]
    kept = torch.tensor([[0.0, 1.0, 0.5]])
    assert standard(x, READER, READER.centre, READER.scale, kept).tolist() == [[0.0, 2.0, 0.0, 0.25, 2.0]]


def test_missing_and_infinite_values_stay_finite() -> None:
    x = torch.tensor([[torch.nan, torch.inf, -torch.inf, 3.0, torch.nan]])
    z = standard(x, READER, READER.centre, READER.scale, torch.tensor([[1.0, 0.0, 1.0]]))
    assert z[0, 0] == z[0, 1] == z[0, 4] == 0
    assert bool(z.isfinite().all())


def test_a_missing_value_answers_as_its_mean() -> None:
    data = SETS["groups"]()
    reader = read(data)
    net = TableNet(reader, 3, (8,)).eval()
    x = data.train.x.clone()
    x[:, 2] = torch.nan
    filled = x.clone()
    filled[:, 2] = reader.centre[2]
    torch.testing.assert_close(net(x), net(filled))


@pytest.mark.parametrize("sees", [False, True])
def test_one_layer_is_a_linear_map_of_what_is_kept(sees: bool) -> None:
    net = TableNet(READER, 2, (), sees_mask=sees)
    weight, bias = net.body[0].weight, net.body[0].bias
    x, kept = torch.randn(4, 5), torch.tensor([[1.0, 0, 0], [0, 1.0, 1.0], [0, 0, 0], [1.0, 1.0, 1.0]])
    z = (x - READER.centre) / READER.scale * kept[:, [0, 1, 0, 2, 1]]
    want = torch.cat([z, kept], 1) if sees else z
    torch.testing.assert_close(net(x, kept), want @ weight.T + bias)


def test_sizes_and_activation_are_as_asked() -> None:
    net = TableNet(READER, 2, (7, 6), activation=nn.SELU)
    assert [type(layer) for layer in net.body] == [nn.Linear, nn.SELU, nn.Linear, nn.SELU, nn.Linear]
    assert [layer.out_features for layer in net.body if isinstance(layer, nn.Linear)] == [7, 6, 2]


def test_a_selector_sees_what_is_kept() -> None:
    with seeded(0):
        net = TableSelector(READER).eval()
    x = READER.centre.expand(1, -1)
    assert net(x).shape == (1, 3)
    assert not torch.allclose(net(x), net(x, torch.tensor([[0.0, 1.0, 1.0]])))


def test_images_may_be_read_as_columns() -> None:
    data = SETS["patches"]()
    net = TableNet(read(data), 4, (8,), sees_mask=True).eval()
    assert net.body[0].in_features == 3 * 64 + 4
    assert net(data.train.x).shape == (6, 4)


@pytest.mark.parametrize("sees", [False, True])
def test_extra_values_stand_beside_the_columns(sees: bool) -> None:
    net = TableNet(READER, 2, (), sees_mask=sees, extra=2)
    weight, bias = net.body[0].weight, net.body[0].bias
    x, kept, extra = torch.randn(4, 5), torch.rand(4, 3), torch.randn(4, 2)
    z = (x - READER.centre) / READER.scale * kept[:, [0, 1, 0, 2, 1]]
    want = torch.cat([z, kept, extra] if sees else [z, extra], 1)
    torch.testing.assert_close(net(x, kept, extra), want @ weight.T + bias)  # never hidden, never scaled
