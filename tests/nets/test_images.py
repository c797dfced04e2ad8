"""Pixels: sizes from one pixel on, scores averaged over each unit."""

from __future__ import annotations

import pytest
import torch

from nets.samples import SETS, dataset, grid, values
from unmask.nets import PixelNet, PixelSelector, read
from unmask.nets.images import _narrow
from unmask.types import Layout


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 7), (3, 5, 5), (1, 6, 9), (2, 28, 28)])
@pytest.mark.parametrize("sees", [False, True])
def test_any_size_of_image_is_read(shape: tuple[int, int, int], sees: bool) -> None:
    pixels = shape[1] * shape[2]
    layout = Layout("image", shape, tuple(range(pixels)), tuple(map(str, range(pixels))))
    data = dataset(layout, values(layout, 3))
    net = PixelNet(read(data), 4, 4, 8, sees_mask=sees).eval()
    assert net(data.train.x).shape == (3, 4)
    assert PixelSelector(read(data), 4)(data.train.x).shape == (3, pixels)


def test_the_score_of_a_patch_is_the_mean_over_its_pixels() -> None:
    patches, pixels = grid(3, 8, 4), grid(3, 8)
    x = values(patches)
    torch.manual_seed(0)
    coarse, fine = PixelSelector(read(dataset(patches, x)), 4), PixelSelector(read(dataset(pixels, x)), 4)
    fine.net.load_state_dict(coarse.net.state_dict())
    scores = fine(x).view(6, 2, 4, 2, 4)
    torch.testing.assert_close(coarse(x), scores.mean((2, 4)).flatten(1))


def test_a_hidden_pixel_is_the_centre() -> None:
    data = SETS["grey"]()
    net = PixelNet(read(data), 2, 4, 8).eval()
    kept = torch.ones(6, 64)
    kept[:, 9] = 0.0
    filled = data.train.x.clone()
    filled[:, 0, 1, 1] = net.centre[0, 1, 1]
    torch.testing.assert_close(net(data.train.x, kept), net(filled))


@pytest.mark.parametrize("sees", [False, True])
def test_a_dense_branch_adds_to_the_convolutions_and_sees_what_they_see(sees: bool) -> None:
    data = SETS["grey"]()
    net = PixelNet(read(data), 2, 4, 8, sees_mask=sees, context=5).eval()
    kept = (torch.arange(64) % 3 == 0).float().expand(6, 64)
    both = net(data.train.x, kept)
    direct, net.direct = net.direct, None
    assert direct is not None
    z = (data.train.x - net.centre) / net.scale * kept.view(6, 1, 8, 8)
    seen = torch.cat([z, kept.view(6, 1, 8, 8)], 1) if sees else z
    torch.testing.assert_close(both, net(data.train.x, kept) + direct(seen.flatten(1)))


def test_zero_removal_makes_a_hidden_pixel_black() -> None:
    data = SETS["colour"]()
    net = PixelNet(read(data, "zero"), 2, 4, 8).eval()
    kept = torch.ones(6, 25)
    kept[:, 7] = 0.0
    black = data.train.x.clone()
    black[:, :, 1, 2] = 0.0
    torch.testing.assert_close(net(data.train.x, kept), net(black))


@pytest.mark.parametrize("outputs", [1, 3])
def test_few_maps_by_products_are_those_of_the_convolution(outputs: int) -> None:
    layout = grid(3, 7)
    net = PixelSelector(read(dataset(layout, values(layout))), 4, outputs=outputs)
    z = torch.randn(5, 8, 7, 6, requires_grad=True)
    ours, plain = _narrow(net.net[-1], z), net.net[-1](z)
    torch.testing.assert_close(ours, plain, rtol=0, atol=1e-5)
    given = [z, net.net[-1].weight, net.net[-1].bias]
    weight = torch.randn(plain.shape)
    for a, b in zip(*(torch.autograd.grad((m * weight).sum(), given) for m in (ours, plain)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
