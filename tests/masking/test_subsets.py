"""Subsets against counted laws and a slow, obvious top-k."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare, kstest
from torch import Tensor

from unmask.masking import subsets
from unmask.seeds import generator

N = 6000


def all_of(n: int, d: int) -> Tensor:
    return torch.ones(n, d, dtype=torch.bool)


def ranked(scores: list[float], k: int, valid: list[bool]) -> list[bool]:
    """The k best valid places of one row, the lowest first among equals: the plain way."""
    places = sorted((i for i in range(len(scores)) if valid[i]), key=lambda i: (-scores[i], i))
    return [i in places[:k] for i in range(len(scores))]


@st.composite
def rows(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Scores full of ties, valid units and a k for each row."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    few = st.sampled_from([-torch.inf, -2.0, -1.0, 0.0, 0.5, 3.0])
    scores = [[draw(few) for _ in range(d)] for _ in range(n)]
    valid = [[draw(st.booleans()) for _ in range(d)] for _ in range(n)]
    return torch.tensor(scores), torch.tensor(valid), torch.tensor([draw(st.integers(0, d + 1)) for _ in range(n)])


@settings(max_examples=150, deadline=None)
@given(rows())
def test_topk_is_the_plain_ranking(given: tuple[Tensor, Tensor, Tensor]) -> None:
    scores, valid, k = given
    want = [ranked(*row) for row in zip(scores.tolist(), k.tolist(), valid.tolist(), strict=True)]
    assert subsets.topk(scores, k, valid).tolist() == want
    place = subsets.places(scores, valid)
    assert ((place < subsets.counts(valid, k)[:, None]) & valid).tolist() == want
    assert place.sort(1).values.tolist() == [list(range(scores.shape[1]))] * len(scores)


def test_equal_scores_keep_the_lowest_places() -> None:
    kept = subsets.topk(torch.zeros(2, 7), 3, all_of(2, 7))
    assert kept.tolist() == [[True] * 3 + [False] * 4] * 2
    wide = subsets.topk(torch.arange(5000.0).remainder(2).expand(2, -1), 2600, all_of(2, 5000))
    assert wide[0, 1::2].all()
    assert wide[0, ::2].nonzero()[:, 0].tolist() == list(range(100))


def test_a_constant_changes_nothing() -> None:
    scores = torch.randint(-5, 5, (40, 9), generator=generator(0)).float()
    valid = torch.rand(40, 9, generator=generator(1)) < 0.8
    assert torch.equal(subsets.topk(scores, 4, valid), subsets.topk(scores + 17.0, 4, valid))


def test_the_order_of_the_rows_changes_nothing() -> None:
    scores = torch.randint(0, 3, (40, 9), generator=generator(0)).float()
    valid = torch.rand(40, 9, generator=generator(1)) < 0.8
    k = torch.arange(40) % 10
    order = torch.randperm(40, generator=generator(2))
    assert torch.equal(subsets.topk(scores, k, valid)[order], subsets.topk(scores[order], k[order], valid[order]))
    alone = torch.cat([subsets.topk(scores[i : i + 1], k[i : i + 1], valid[i : i + 1]) for i in range(40)])
    assert torch.equal(subsets.topk(scores, k, valid), alone)


def test_a_valid_unit_of_score_minus_infinity_still_counts() -> None:
    kept = subsets.topk(torch.tensor([[0.0, -torch.inf, 5.0]]), 2, torch.tensor([[False, True, True]]))
    assert kept.tolist() == [[False, True, True]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_sort_of_number_is_ranked_the_same_way(dtype: torch.dtype) -> None:
    scores = torch.randint(-3, 3, (50, 17), generator=generator(0)).to(dtype)
    valid = torch.rand(50, 17, generator=generator(1)) < 0.7
    k = torch.arange(50) % 19
    want = [ranked(*row) for row in zip(scores.tolist(), k.tolist(), valid.tolist(), strict=True)]
    assert subsets.topk(scores, k, valid).tolist() == want


def test_rows_without_units_keep_none_and_what_is_no_number_counts_as_the_highest() -> None:
    assert subsets.topk(torch.zeros(3, 0), 2, all_of(3, 0)).shape == (3, 0)
    assert subsets.topk(torch.tensor([[1.0, torch.nan, 2.0]]), 1, all_of(1, 3)).tolist() == [[False, True, False]]


def test_counts_are_capped_by_what_is_there() -> None:
    valid = torch.tensor([[True, True, True], [True, False, False], [False, False, False]])
    assert subsets.counts(valid, 2).tolist() == [2, 1, 0]
    assert subsets.counts(valid, torch.tensor([3, 0, 5])).tolist() == [3, 0, 0]


def test_uniform_makes_every_pair_equally_often() -> None:
    valid = torch.tensor([True, False, True, True, True, True]).expand(N, -1)
    seen = Counter(tuple(row.nonzero()[:, 0].tolist()) for row in subsets.uniform(valid, 2, generator(0)))
    pairs = list(combinations([0, 2, 3, 4, 5], 2))
    assert set(seen) == set(pairs)
    assert chisquare([seen[pair] for pair in pairs]).pvalue > 1e-3


def test_uniform_takes_a_k_for_each_row() -> None:
    k = torch.arange(8)
    assert subsets.uniform(all_of(8, 5), k, generator(0)).sum(1).tolist() == [0, 1, 2, 3, 4, 5, 5, 5]


def test_bernoulli_sizes_are_binomial_and_units_independent() -> None:
    kept = subsets.bernoulli(all_of(N, 4), 0.3, generator(0))
    sizes = kept.sum(1).bincount(minlength=5)
    assert chisquare(sizes.numpy(), N * binom(4, 0.3).pmf(range(5))).pvalue > 1e-3
    together = kept.float().T @ kept.float() / N
    want = torch.full((4, 4), 0.09).fill_diagonal_(0.3)
    torch.testing.assert_close(together, want, atol=0.025, rtol=0)


@pytest.mark.parametrize(("p", "kept"), [(0.0, 0), (1.0, 3)])
def test_bernoulli_at_its_ends(p: float, kept: int) -> None:
    valid = torch.tensor([True, True, False, True]).expand(500, -1)
    assert set(subsets.bernoulli(valid, p, generator(0)).sum(1).tolist()) == {kept}


def test_bernoulli_chances_may_differ_by_unit() -> None:
    p = torch.tensor([[0.1, 0.9, 0.5, 0.5], [0.5, 0.2, 0.8, 1.0]]).repeat(N, 1)
    valid = torch.tensor([True, True, True, False]).expand(2 * N, -1)
    kept = subsets.bernoulli(valid, p, generator(0)).float().view(N, 2, 4).mean(0)
    torch.testing.assert_close(kept, p[:2] * valid[:2], atol=0.02, rtol=0)


def test_any_size_is_uniform_over_sizes_and_then_over_units() -> None:
    valid = torch.tensor([True, True, True, False, True]).expand(N, -1)
    kept = subsets.any_size(valid, generator(0))
    assert chisquare(kept.sum(1).bincount(minlength=5)[1:].numpy()).pvalue > 1e-3
    assert int((kept.sum(1) == 0).sum()) == 0
    single = kept[kept.sum(1) == 1].sum(0)
    assert single[3] == 0
    assert chisquare(single[[0, 1, 2, 4]].numpy()).pvalue > 1e-3


@pytest.mark.parametrize("length", [2, 3, 6])
def test_shapley_sizes_follow_the_kernel(length: int) -> None:
    valid = torch.arange(7).expand(N, 7) < length
    kept = subsets.shapley(valid, generator(0))
    weight = torch.tensor([1 / (s * (length - s)) for s in range(1, length)])
    sizes = kept.sum(1).bincount(minlength=length + 1)
    assert sizes[0] == sizes[length] == 0
    if length > 2:
        assert (
            chisquare(sizes[1:length].numpy(), (N * weight / weight.sum()).double().numpy(), sum_check=False).pvalue
            > 1e-3
        )
    assert chisquare(kept.sum(0)[:length].numpy()).pvalue > 1e-3


def test_shapley_of_one_unit_or_none() -> None:
    valid = torch.tensor([[False, True, False], [False, False, False]])
    assert torch.equal(subsets.shapley(valid, generator(0)), valid)


def test_dirichlet_has_the_marginals_of_its_law() -> None:
    valid = torch.tensor([True, True, False, True, True]).expand(N, -1)
    weight = subsets.dirichlet(valid, 0.5, generator(0))
    torch.testing.assert_close(weight.sum(1), torch.ones(N))
    assert torch.equal(weight[:, 2], torch.zeros(N))
    torch.testing.assert_close(weight.mean(0)[valid[0]], torch.full((4,), 0.25), atol=0.015, rtol=0)
    assert kstest(weight[:, 0].numpy(), "beta", (0.5, 1.5)).pvalue > 1e-3


def test_dirichlet_at_a_tiny_concentration_and_without_units() -> None:
    valid = torch.tensor([[True] * 4, [False] * 4]).repeat(50, 1)
    weight = subsets.dirichlet(valid, 1e-3, generator(0))
    torch.testing.assert_close(weight.sum(1), torch.tensor([1.0, 0.0]).repeat(50))


@settings(max_examples=60, deadline=None)
@given(valid=st.lists(st.booleans(), min_size=1, max_size=8), k=st.integers(0, 9), seed=st.integers(0, 10**6))
def test_nothing_draws_an_invalid_unit(valid: list[bool], k: int, seed: int) -> None:
    live = torch.tensor(valid).expand(5, -1)
    size = min(k, sum(valid))
    drawn = {
        "uniform": subsets.uniform(live, k, generator(seed)),
        "bernoulli": subsets.bernoulli(live, 0.7, generator(seed)),
        "any size": subsets.any_size(live, generator(seed)),
        "shapley": subsets.shapley(live, generator(seed)),
        "dirichlet": subsets.dirichlet(live, 1.0, generator(seed)) > 0,
    }
    assert not any(bool((kept & ~live).any()) for kept in drawn.values())
    assert drawn["uniform"].sum(1).tolist() == [size] * 5


def test_a_seed_fixes_the_draw_and_calls_differ() -> None:
    valid, rng = all_of(20, 10), generator(3)
    first, second = subsets.uniform(valid, 4, rng), subsets.uniform(valid, 4, rng)
    assert torch.equal(first, subsets.uniform(valid, 4, generator(3)))
    assert not torch.equal(first, second)


def test_first_units_and_beginnings() -> None:
    valid = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 1, 0]], dtype=torch.bool)
    kept = torch.tensor([[0, 1, 1], [0, 1, 0], [0, 0, 0]], dtype=torch.bool)
    assert subsets.holds_first(kept, valid).tolist() == [False, True, False]
    assert subsets.beginnings(kept).tolist() == pytest.approx([0, 2 / 3])
    assert subsets.beginnings(kept[2:]).tolist() == [0.0]


@pytest.mark.parametrize(("share", "kept"), [(0.0, 0), (0.01, 1), (0.1, 3), (0.3, 9), (0.7, 21), (1.0, 30)])
def test_a_share_is_rounded_up_and_no_further(share: float, kept: int) -> None:
    scores = torch.randn(4, 30, generator=generator(0))
    found = subsets.top_share(scores, share, all_of(4, 30))
    assert found.sum(1).tolist() == [kept] * 4
    assert torch.equal(found, subsets.topk(scores, kept, all_of(4, 30)))


def test_sorting_some_rows_at_a_time_keeps_the_same_units(monkeypatch):
    scores = torch.randn(50, 30, generator=torch.Generator().manual_seed(0)).round()
    k = torch.arange(50) % 31
    whole = subsets.topk(scores, k, all_of(50, 30))
    monkeypatch.setattr(subsets, "SORTED", 100)
    assert torch.equal(subsets.topk(scores, k, all_of(50, 30)), whole)
