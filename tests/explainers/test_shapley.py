"""The game of Shapley values: its subsets, its worth and its misfit against plain loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from unmask.explainers import shapley
from unmask.seeds import generator

VALID = torch.tensor([[True] * 5, [True, True, True, False, False], [True, False, False, False, False]])


def test_subsets_come_with_their_complements_by_the_kernel() -> None:
    s = shapley.pairs(VALID, 4000, generator(0))
    assert s.shape == (4000, 3, 5)
    assert torch.equal(s[2000:], VALID & ~s[:2000])
    sizes = s[:, 0].sum(1).bincount(minlength=6)[1:5] / 4000
    weight = torch.tensor([1 / (i * (5 - i)) for i in range(1, 5)])
    torch.testing.assert_close(sizes, weight / weight.sum(), atol=0.03, rtol=0)
    torch.testing.assert_close(s[:, 0].float().mean(0), torch.full((5,), 0.5), atol=0.02, rtol=0)


def test_misfit_is_the_formula() -> None:
    """d times the squared gap, a mean over subsets and classes; d is the row's own number of units."""
    rng = generator(1)
    phi, gain = torch.randn(3, 5, 2, generator=rng) * VALID[..., None], torch.randn(4, 3, 2, generator=rng)
    s = shapley.pairs(VALID, 4, rng)
    got = shapley.misfit(phi, s, gain, VALID)
    for i, d in enumerate((5, 3, 1)):
        total = 0.0
        for m in range(4):
            for c in range(2):
                told = sum(float(phi[i, j, c]) for j in range(5) if s[m, i, j])
                total += d * (float(gain[m, i, c]) - told) ** 2 / 8
        assert float(got[i]) == pytest.approx(total, rel=1e-5)


def test_efficient_values_add_up_and_are_moved_alike() -> None:
    rng = generator(2)
    phi, gain = torch.randn(3, 5, 2, generator=rng), torch.randn(3, 2, generator=rng)
    got = shapley.efficient(phi, gain, VALID)
    torch.testing.assert_close(got.sum(1), gain)
    assert bool((got[~VALID] == 0).all())
    for i, d in enumerate((5, 3, 1)):
        moved = (got - phi)[i, :d]
        torch.testing.assert_close(moved, moved[:1].expand(d, -1))
    torch.testing.assert_close(shapley.efficient(got, gain, VALID), got)


def test_values_of_many_subsets_stand_where_they_belong() -> None:
    s = shapley.pairs(VALID, 6, generator(3))

    def v(index: Tensor, kept: Tensor) -> Tensor:
        return torch.stack([index.float(), kept.float().sum(1)], 1)

    index = torch.tensor([4, 7, 2])
    got = shapley.many(v, index, s)
    for m in range(6):
        for i in range(3):
            assert got[m, i].tolist() == [float(index[i]), float(s[m, i].sum())]
    none, full = shapley.ends(v, VALID)
    assert none.tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert full.tolist() == [[0.0, 5.0], [1.0, 3.0], [2.0, 1.0]]


def test_a_surrogate_sees_parts_of_every_size() -> None:
    n = 12_000
    kept = shapley.any_part(torch.ones(n, 4, dtype=torch.bool), generator(4))
    sizes = kept.sum(1).bincount(minlength=5) / n
    kernel = torch.tensor([0.0, 1 / 3, 1 / 4, 1 / 3, 0.0])
    ranks = torch.tensor([0.0, 1, 1, 1, 1]) / 4
    want = kernel / kernel.sum() / 2 + (ranks + ranks.flip(0)) / 4
    torch.testing.assert_close(sizes, want, atol=0.02, rtol=0)
    assert not bool(shapley.any_part(torch.zeros(5, 4, dtype=torch.bool), generator(0)).any())
