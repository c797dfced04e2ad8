"""Differentiable draws against their closed-form laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations, product

import pytest
import torch
from torch import Tensor

from unmask.masking import relax, subsets
from unmask.masking.highest import gumbel
from unmask.seeds import generator

N = 8000
Draw = Callable[[Tensor, torch.Generator, Tensor], Tensor]
DRAWS: dict[str, Draw] = {
    "k_hot": lambda s, rng, valid: relax.k_hot(s, 2, 0.5, rng, valid),
    "gumbel_topk": lambda s, rng, valid: relax.gumbel_topk(s, 2, 0.5, rng, valid),
    "noisy_logit_max": lambda s, rng, valid: relax.noisy_logit_max(s, 2, 0.5, rng, valid),
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


def test_gumbel_noise_is_finite_at_the_ends_of_its_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = torch.tensor([0.0, 1e-45, 0.5, 1 - 2**-24, 1.0])
    monkeypatch.setattr(torch, "rand", lambda shape, **options: ends.expand(shape).clone())
    monkeypatch.setattr(torch.Tensor, "uniform_", lambda drawn, **options: drawn.copy_(ends.expand_as(drawn)))
    noise = gumbel((3, 5), generator(0))
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
    for law in relax.DRAWS.values():
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
    noise = gumbel((5, 3, 4), generator(1))
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


def test_log_bernoulli_is_the_formula() -> None:
    logits, valid = torch.randn(6, 4, generator=generator(0)), torch.rand(6, 4, generator=generator(1)) < 0.7
    s = (torch.rand(6, 4, generator=generator(2)) < 0.5) & valid
    for offset in (0.0, 1e-5, 0.2):
        want = torch.zeros(6)
        for i, j in product(range(6), range(4)):
            pi = float(logits[i, j].sigmoid())
            want[i] += valid[i, j] * torch.tensor((pi if s[i, j] else 1 - pi) + offset).log()
        torch.testing.assert_close(relax.log_bernoulli(logits, s.float(), valid, offset), want)


@pytest.mark.parametrize("offset", [0.0, 1e-5])
def test_log_bernoulli_of_certain_units_is_finite(offset: float) -> None:
    logits = torch.tensor([[60.0, -60.0, 60.0, -60.0]], requires_grad=True)
    log_q = relax.log_bernoulli(logits, torch.tensor([[1.0, 0.0, 0.0, 1.0]]), all_of(logits), offset)
    assert bool(log_q.isfinite().all())
    assert bool(torch.autograd.grad(log_q.sum(), logits)[0].isfinite().all())


def test_rebar_draws_from_one_noise() -> None:
    logits, valid = 2 * torch.randn(500, 6, generator=generator(0)), torch.rand(500, 6, generator=generator(1)) < 0.8
    z, s, again = relax.rebar(logits, 0.3, generator(2), valid)
    assert torch.equal(s, (z > 0.5).float())
    torch.testing.assert_close(again, z, atol=1e-4, rtol=1e-4)
    for mask in (z, s, again):
        assert bool((mask[~valid] == 0).all())
    drawn = relax.rebar(logits[:1].expand(N, -1), 0.3, generator(3), valid[:1].expand(N, -1))[1].mean(0)
    torch.testing.assert_close(drawn, logits[0].sigmoid() * valid[0], atol=0.02, rtol=0)


def test_rebar_keeps_the_hard_draw_when_the_logits_move() -> None:
    """z~ is the draw given s at a fixed share v of the side of s, by finite differences in double precision."""
    logits = torch.randn(400, 3, generator=generator(0)).double()
    u = torch.rand(400, 3, generator=generator(1)).clamp(1e-6, 1 - 1e-6).double()

    def given(at: Tensor) -> Tensor:
        pi, moved = logits.sigmoid(), at.sigmoid()
        s = u > 1 - pi
        v = torch.where(s, (u - (1 - pi)) / pi, u / (1 - pi))  # held fixed
        again = torch.where(s, 1 - moved + v * moved, v * (1 - moved))
        return torch.sigmoid((at + again.log() - (1 - again).log()) / 0.5)

    at = logits.float().requires_grad_()
    (got,) = torch.autograd.grad(relax.rebar(at, 0.5, generator(1), all_of(at))[2].sum(), at)
    step = 1e-5
    want = (given(logits + step) - given(logits - step)) / (2 * step)
    torch.testing.assert_close(got.double(), want, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_rebar_gives_the_gradient_of_the_mean_over_hard_draws(tau: float) -> None:
    """Three units, f with interactions: its mean gradient is that of sum_s q(s) f(s), within five standard errors."""
    weight = torch.tensor([1.0, -2.0, 0.7])

    def f(mask: Tensor) -> Tensor:
        return torch.tanh(mask @ weight) + 1.5 * mask[:, 0] * mask[:, 2] ** 2

    logits = torch.tensor([0.4, -0.8, 1.1], requires_grad=True)
    every = torch.tensor(list(product([0.0, 1.0], repeat=3)))
    q = (every * logits.sigmoid() + (1 - every) * (-logits).sigmoid()).prod(1)
    (exact,) = torch.autograd.grad((q * f(every)).sum(), logits)
    many = logits.detach().expand(100_000, -1).clone().requires_grad_()
    z, s, again = relax.rebar(many, tau, generator(0), all_of(many))
    log_q = relax.log_bernoulli(many, s, all_of(many))
    (plain,) = torch.autograd.grad((f(s) * log_q).sum(), many, retain_graph=True)
    (found,) = torch.autograd.grad(((f(s) - f(again)).detach() * log_q + f(z) - f(again)).sum(), many)
    error = found.std(0) / len(found) ** 0.5
    assert bool((error < 0.01).all())
    assert bool(((found.mean(0) - exact).abs() < 5 * error).all())
    if tau == 0.5:  # when colder, the relaxed draws are steep themselves
        assert bool((found.std(0) < plain.std(0)).all()), "it should vary less than the plain score function does"


@pytest.mark.parametrize("size", [1e4, 30.0])
def test_rebar_of_extreme_logits_stays_finite(size: float) -> None:
    logits = (torch.randn(300, 5, generator=generator(0)).sign() * size).requires_grad_()
    z, s, again = relax.rebar(logits, 0.1, generator(1), all_of(logits))
    value = (relax.log_bernoulli(logits, s, all_of(logits)) + (z - again).square().sum(1) + (z + again).sum(1)).sum()
    assert bool(value.isfinite())
    assert bool(torch.autograd.grad(value, logits)[0].isfinite().all())


# --- draws by name ----------------------------------------------------------------------------------------------------

named = pytest.mark.parametrize("name", ["k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"])


def test_the_table_of_draws() -> None:
    assert set(relax.DRAWS) == {"k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"}
    assert relax.DRAWS["noisy-logit-max"] is relax.noisy_logit_max


@named
@pytest.mark.parametrize("k", [1, 3, 7])
def test_a_named_draw_keeps_its_promises(name: str, k: int) -> None:
    """Shape and type, nothing where no unit is, a hard choice among valid units, gradients to valid units only."""
    valid = torch.rand(200, 7, generator=generator(0)) < 0.6
    scores = torch.randn(200, 7, generator=generator(1)).masked_fill(~valid, 40.0).requires_grad_()
    v = relax.DRAWS[name](scores, k, 0.5, generator(2), valid)
    assert v.shape == valid.shape
    assert v.dtype == torch.float32
    assert bool((v[~valid] == 0).all())
    (grad,) = torch.autograd.grad((v * torch.arange(7.0)).sum(), scores)
    assert bool((grad[~valid] == 0).all())
    hard = subsets.topk(v.detach(), k, valid)
    assert not bool((hard & ~valid).any())
    assert torch.equal(hard.sum(1), valid.sum(1).clamp(max=k))


@named
def test_a_named_draw_prefers_high_scores(name: str) -> None:
    scores = torch.tensor([3.0, 0.0, 2.0, -1.0]).expand(N, -1)
    mean = relax.DRAWS[name](scores, 2, 0.5, generator(0), all_of(scores)).mean(0)
    assert mean.argsort(descending=True).tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("name", ["k-hot", "gumbel-topk"])
def test_a_named_draw_of_all_units_is_all_of_them(name: str) -> None:
    valid = torch.tensor([[True, True, False, True], [True, False, False, False]])
    v = relax.DRAWS[name](torch.randn(2, 4, generator=generator(0)), 3, 0.5, generator(1), valid)
    torch.testing.assert_close(v, valid.float())


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_noisy_logit_maximum_is_its_definition(k: int) -> None:
    """max over l of (s_j + g_jl) / tau, the draws of `k_hot` before their softmax; nothing is bounded."""
    scores, tau = 2 * torch.randn(6, 4, generator=generator(0)), 0.7
    valid = torch.rand(6, 4, generator=generator(1)) < 0.8
    got = relax.noisy_logit_max(scores, k, tau, generator(2), valid)
    u = torch.rand(6, k, 4, generator=generator(2)).clamp(1e-30, 1 - 2**-24)
    for i, j in product(range(6), range(4)):
        noisy = [float((scores[i, j] - (-u[i, draw, j].log()).log()) / tau) for draw in range(k)]
        assert float(got[i, j]) == pytest.approx(max(noisy) if valid[i, j] else 0.0, abs=1e-5)


def test_the_noisy_logit_maximum_is_unbounded_on_both_sides() -> None:
    scores = torch.tensor([4.0, -6.0, 0.0]).expand(500, -1)
    v = relax.noisy_logit_max(scores, 2, 0.5, generator(0), all_of(scores))
    assert float(v[:, 0].min()) > 1.0
    assert float(v[:, 1].mean()) < 0.0
    expected = 0.5772156649 + torch.tensor(2.0).log()  # mean of the larger of two standard Gumbel draws
    torch.testing.assert_close(v.mean(0), (scores[0] + expected) / 0.5, atol=0.4, rtol=0)


# --- soft top-k -------------------------------------------------------------------------------------------------------


def test_soft_topk_sums_to_k_and_is_bounded() -> None:
    for spread in (0.1, 1.0, 30.0, 1000.0):
        scores = spread * torch.randn(64, 20, generator=generator(0))
        v = relax.soft_topk(scores, 6, 0.5, generator(1), all_of(scores))
        assert bool(((v >= 0) & (v <= 1)).all())
        torch.testing.assert_close(v.sum(1), torch.full((64,), 6.0), atol=1e-3, rtol=0)


def test_soft_topk_orders_units_as_the_noisy_scores() -> None:
    scores = torch.randn(64, 20, generator=generator(0))
    v = relax.soft_topk(scores, 6, 0.5, generator(1), all_of(scores))
    noisy = scores + gumbel(scores.shape, generator(1))
    assert torch.equal(subsets.topk(v, 6, all_of(scores)), subsets.topk(noisy, 6, all_of(scores)))


def test_the_derivative_of_soft_topk_is_the_true_one() -> None:
    """Against finite differences; the sum stays k, so what one unit gains the others lose."""
    scores = torch.randn(1, 6, generator=generator(0)).double()
    weight = torch.randn(6, generator=generator(1)).double()

    def value(s: Tensor) -> Tensor:
        return (relax.soft_topk(s.float(), 2, 0.7, generator(2), all_of(s)).double() * weight).sum()

    leaf = scores.clone().requires_grad_()
    got = torch.autograd.grad(value(leaf), leaf)[0][0]
    step = 1e-2
    for j in range(6):
        moved = torch.eye(6, dtype=torch.double)[j] * step
        want = (value(scores + moved) - value(scores - moved)) / (2 * step)
        assert float(got[j]) == pytest.approx(float(want), abs=2e-3)
    assert float(got.sum()) == pytest.approx(0.0, abs=1e-4)


def test_shares_of_valid_units_sum_to_one_and_others_have_none() -> None:
    scores, valid = torch.tensor([[1.0, 2.0, 50.0]]), torch.tensor([[True, True, False]])
    got = relax.log_softmax(scores, valid).exp()[0]
    torch.testing.assert_close(got, torch.tensor([1 / (1 + math.e), math.e / (1 + math.e), 0.0]))


@pytest.mark.parametrize("name", relax.DRAWS)
def test_noise_is_exact_where_products_are_rounded(name: str) -> None:
    """In mixed precision scores come as bfloat16; what is drawn of them is float32, with the noise as it was."""
    scores = torch.randn(8, 12, generator=generator(0)).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = relax.DRAWS[name](scores, 3, 0.5, generator(1), all_of(scores))
    exact = relax.DRAWS[name](scores.float(), 3, 0.5, generator(1), all_of(scores))
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, exact)
