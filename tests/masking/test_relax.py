"""Differentiable draws against their closed-form laws."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest
import torch
from scipy.stats import kstest
from torch import Tensor

from unmask.masking import relax
from unmask.seeds import generator

N = 8000
Draw = Callable[[Tensor, torch.Generator, Tensor], Tensor]
DRAWS: dict[str, Draw] = {
    "k_hot": lambda s, rng, valid: relax.k_hot(s, 2, 0.5, rng, valid),
    "gumbel_topk": lambda s, rng, valid: relax.gumbel_topk(s, 2, 0.5, rng, valid),
    "bernoulli": lambda s, rng, valid: relax.bernoulli(s, 0.5, rng, valid),
    "hard bernoulli": lambda s, rng, valid: relax.bernoulli(s, 0.5, rng, valid, hard=True),
}
each = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def all_of(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def successive(p: Tensor, k: int) -> Tensor:
    """(d,) the chance that a unit is among k draws without replacement, by listing every order of draws."""
    inclusion = torch.zeros(len(p))
    for order in permutations(range(len(p)), k):
        chance, left = 1.0, 1.0
        for unit in order:
            chance *= float(p[unit]) / left
            left -= float(p[unit])
        inclusion[list(order)] += chance
    return inclusion


def test_gumbel_noise_has_its_law() -> None:
    noise = relax.gumbel((N,), generator(0))
    assert bool(noise.isfinite().all())
    assert kstest(noise.numpy(), "gumbel_r").pvalue > 1e-3


def test_gumbel_noise_is_finite_at_the_ends_of_its_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = torch.tensor([0.0, 1e-45, 0.5, 1 - 2**-24, 1.0])
    monkeypatch.setattr(relax.torch, "rand", lambda shape, **options: ends.expand(shape).clone())
    noise = relax.gumbel((3, 5), generator(0))
    assert bool(noise.isfinite().all())
    assert bool((noise.diff(dim=1)[:, 1:3] > 0).all())
    everywhere = torch.ones(3, 5, dtype=torch.bool)
    assert bool(relax.bernoulli(torch.zeros(3, 5), 0.01, generator(0), everywhere).isfinite().all())


@each
def test_a_seed_fixes_the_draw_and_calls_differ(draw: Draw) -> None:
    scores, rng = torch.randn(16, 7, generator=generator(0)), generator(1)
    first, second = draw(scores, rng, all_of(scores)), draw(scores, rng, all_of(scores))
    assert torch.equal(first, draw(scores, generator(1), all_of(scores)))
    assert not torch.equal(first, second)


@each
def test_rows_and_draws_have_their_own_noise(draw: Draw) -> None:
    v = draw(torch.zeros(200, 6), generator(0), torch.ones(200, 6, dtype=torch.bool))
    assert len({tuple(row.tolist()) for row in v}) > 10


@each
def test_invalid_units_are_never_drawn(draw: Draw) -> None:
    valid = torch.rand(300, 7, generator=generator(0)) < 0.6
    scores = torch.where(valid, 0.0, 50.0)  # the invalid ones look best
    assert bool((draw(scores, generator(1), valid)[~valid] == 0).all())


@each
@pytest.mark.parametrize("spread", [1e4, -1e4, 0.0])
def test_extreme_scores_stay_finite(draw: Draw, spread: float) -> None:
    scores = (torch.randn(50, 6, generator=generator(0)).sign() * spread).requires_grad_()
    v = draw(scores, generator(1), all_of(scores))
    v.square().sum().backward()
    assert bool(v.isfinite().all())
    assert bool(scores.grad.isfinite().all())


@pytest.mark.parametrize("tau", [0.01, 0.1])
def test_small_temperatures_stay_finite(tau: float) -> None:
    base = 1e4 * torch.randn(50, 6, generator=generator(0))
    for law in (relax.k_hot, relax.gumbel_topk):
        scores = base.clone().requires_grad_()
        v = law(scores, 3, tau, generator(1), all_of(base))
        v.square().sum().backward()
        assert bool(v.isfinite().all() & scores.grad.isfinite().all())
    scores = base.clone().requires_grad_()
    relax.bernoulli(scores, tau, generator(1), all_of(base)).square().sum().backward()
    assert bool(scores.grad.isfinite().all())


@each
def test_gradients_reach_the_scores(draw: Draw) -> None:
    scores = torch.randn(8, 6, generator=generator(0)).requires_grad_()
    weight = torch.arange(6.0)
    (draw(scores, generator(1), all_of(scores)) * weight).sum().backward()
    assert bool(scores.grad.isfinite().all())
    assert bool((scores.grad.abs().sum(1) > 1e-4).all())


def test_k_hot_is_the_formula() -> None:
    scores = torch.randn(5, 4, generator=generator(0))
    noise = relax.gumbel((5, 3, 4), generator(1))
    slow = torch.zeros(5, 4)
    for i in range(5):
        draws = [torch.softmax((scores[i] + noise[i, draw]) / 0.7, 0) for draw in range(3)]
        slow[i] = torch.stack(draws).max(0).values
    torch.testing.assert_close(relax.k_hot(scores, 3, 0.7, generator(1), all_of(scores)), slow)


def test_k_hot_lies_between_zero_and_one_and_peaks_when_cold() -> None:
    scores = torch.randn(400, 8, generator=generator(0))
    warm = relax.k_hot(scores, 3, 0.5, generator(1), all_of(scores))
    assert bool(((warm > 0) & (warm < 1)).all())
    assert float(warm.sum(1).max()) <= 3.0
    cold = relax.k_hot(scores, 3, 0.01, generator(1), all_of(scores))
    assert float((cold.max(1).values > 0.99).float().mean()) > 0.97


def test_k_hot_with_far_scores_repeats_the_first() -> None:
    scores = torch.tensor([40.0, 20.0, 0.0]).expand(500, -1)
    torch.testing.assert_close(
        relax.k_hot(scores, 2, 0.1, generator(0), all_of(scores)).mean(0),
        torch.tensor([1.0, 0.0, 0.0]),
        atol=1e-4,
        rtol=0,
    )


@pytest.mark.parametrize("k", [1, 2, 4])
def test_k_hot_when_cold_draws_with_replacement(k: int) -> None:
    scores = torch.tensor([1.0, 0.0, -0.5, 0.3, -2.0]).expand(N, -1)
    drawn = relax.k_hot(scores, k, 0.01, generator(0), all_of(scores)) > 0.5
    want = 1 - (1 - scores[0].softmax(0)) ** k
    torch.testing.assert_close(drawn.float().mean(0), want, atol=0.02, rtol=0)


def test_k_hot_keeps_all_where_there_are_no_more_than_k() -> None:
    valid = torch.tensor([[True, False, True, False], [False, False, False, False], [True, True, True, True]])
    v = relax.k_hot(torch.randn(3, 4, generator=generator(0)), 2, 0.5, generator(1), valid)
    assert torch.equal(v[:2], valid[:2].float())
    assert bool((v[2] < 1).all())
    everything = relax.k_hot(torch.zeros(2, 4), 9, 0.5, generator(1), torch.ones(2, 4, dtype=torch.bool))
    assert torch.equal(everything, torch.ones(2, 4))


def test_gumbel_topk_is_exactly_k_hard_ones() -> None:
    scores = torch.randn(2000, 6, generator=generator(0))
    v = relax.gumbel_topk(scores, 3, 0.5, generator(1), all_of(scores))
    assert set(v.unique().tolist()) == {0.0, 1.0}
    assert set(v.sum(1).tolist()) == {3.0}


def test_gumbel_topk_draws_without_replacement() -> None:
    scores = torch.tensor([1.2, 0.0, -0.7]).expand(N, -1)
    drawn = relax.gumbel_topk(scores, 2, 0.5, generator(0), all_of(scores)).mean(0)
    p = scores[0].softmax(0)
    want = successive(p, 2)
    # the closed form for three units: 1 - P(unit j comes last)
    last = torch.stack([p[a] * p[b] * (1 / (1 - p[a]) + 1 / (1 - p[b])) for a, b in ((1, 2), (0, 2), (0, 1))])
    torch.testing.assert_close(want, 1 - last)
    torch.testing.assert_close(drawn, want, atol=0.02, rtol=0)


def test_gumbel_topk_keeps_all_where_there_are_no_more_than_k() -> None:
    valid = torch.tensor([[True, False, True, False], [False] * 4, [False, True, False, False]])
    for k in (2, 4, 7):
        scores = torch.randn(3, 4, generator=generator(0)).requires_grad_()
        v = relax.gumbel_topk(scores, k, 0.5, generator(1), valid)
        assert torch.equal(v, valid.float())
        v.sum().backward()
        assert bool(scores.grad.isfinite().all())


def test_gumbel_topk_pulls_the_wanted_unit_up() -> None:
    scores = torch.zeros(4000, 5, requires_grad=True)
    relax.gumbel_topk(scores, 2, 0.5, generator(0), all_of(scores))[:, 3].sum().backward()
    mean = scores.grad.mean(0)
    assert mean[3] > 0
    assert bool((mean[[0, 1, 2, 4]] < 0).all())


def test_hard_bernoulli_has_the_mean_of_its_logits() -> None:
    logits = torch.tensor([-3.0, -1.0, 0.0, 0.5, 2.0]).expand(N, -1)
    drawn = relax.bernoulli(logits, 0.3, generator(0), all_of(logits), hard=True)
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(drawn.mean(0), logits[0].sigmoid(), atol=0.02, rtol=0)


def test_bernoulli_gradient_is_that_of_the_sigmoid() -> None:
    logits = torch.randn(6, 4, generator=generator(0)).requires_grad_()
    soft = relax.bernoulli(logits, 0.7, generator(1), all_of(logits))
    (want,) = torch.autograd.grad(soft.sum(), logits)
    torch.testing.assert_close(want, (soft * (1 - soft) / 0.7).detach())
    hard = relax.bernoulli(logits, 0.7, generator(1), all_of(logits), hard=True)
    torch.testing.assert_close(torch.autograd.grad(hard.sum(), logits)[0], want)
    assert torch.equal(hard.detach(), (soft > 0.5).float())
