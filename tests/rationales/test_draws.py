"""Draws against counting and closed forms."""

from __future__ import annotations

from itertools import permutations, product

import pytest
import torch
from torch import Tensor

from unmask.rationales.choosing import best, number
from unmask.rationales.draws import Drawn, draw, draw_runs, explored, gates, transitions
from unmask.seeds import generator

VALID = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], dtype=torch.bool)
SCORES = torch.tensor([[0.1, 2.0, -1.0, 1.5, 0.0], [3.0, 1.0, 2.0, 9.0, 9.0], [0.0, 9.0, 9.0, 9.0, 9.0]])


def test_exploration_is_over_units_that_exist() -> None:
    p = explored(SCORES, VALID, 0.2)
    torch.testing.assert_close(p.sum(1), torch.ones(3))
    assert not p[~VALID].any()
    want = 0.8 * SCORES[1, :3].softmax(0) + 0.2 / 3
    torch.testing.assert_close(p[1, :3], want)


def test_draws_have_the_probability_they_say() -> None:
    """All ordered pairs of three units: the log-probability of a draw is that of its order."""
    scores = torch.tensor([[1.0, 0.0, -0.5, 0.0]]).expand(30_000, -1)
    valid = torch.tensor([[1, 1, 1, 0]], dtype=torch.bool).expand(30_000, -1)
    drawn = draw(scores, valid, 2, 0.1, generator(0))
    p = explored(scores, valid, 0.1)[0, :3].tolist()
    law = {(a, b): p[a] * p[b] / (1 - p[a]) for a, b in permutations(range(3), 2)}
    assert {round(v, 4) for v in drawn.log_prob.exp().tolist()} == {round(v, 4) for v in law.values()}
    for pair in ((0, 1), (0, 2), (1, 2)):
        share = float((drawn.kept[:, list(pair)] > 0.5).all(1).float().mean())
        assert share == pytest.approx(law[pair] + law[pair[::-1]], abs=0.01)


def test_runs_are_drawn_by_the_mean_of_their_chances_and_keep_to_the_budget() -> None:
    valid = torch.arange(24) < torch.tensor([24, 17, 3, 1])[:, None]
    scores = torch.randn(4, 24, generator=generator(5), requires_grad=True)
    for seed, k in product(range(20), (1, 4, 0.25)):
        found = draw_runs(scores, valid, k, 3, 0.1, generator(seed))
        kept = found.kept.detach()
        assert not bool((kept * ~valid).any())
        assert bool((kept.sum(1) <= number(k, valid)).all())
        assert bool((kept.sum(1) >= 1).all())
        runs = (kept[:, 1:] > kept[:, :-1]).sum(1) + kept[:, 0]
        assert bool((runs <= (number(k, valid) + 2) // 3).all())  # a run is three neighbours, and one may be cut
    assert torch.autograd.grad(found.kept.sum() + found.log_prob.sum(), scores)[0].abs().sum() > 0
    heavy = torch.zeros(1, 24)
    heavy[0, 9:12] = 50.0
    sure = draw_runs(heavy, torch.ones(1, 24, dtype=torch.bool), 3, 3, 0.0, generator(1))
    assert float(sure.kept[0, 9:12].sum()) >= 1
    chance = float((heavy.softmax(1) * sure.kept).sum())  # a third of it for each heavy unit in the run
    assert float(sure.log_prob.exp()) == pytest.approx(chance, abs=1e-3)


def test_the_likeliest_run_is_the_one_that_is_kept_in_the_end() -> None:
    """One high score among nine outweighs nine that are a little high, in the draw as in what `best` smooths."""
    scores = torch.zeros(1, 27)
    scores[0, 4], scores[0, 9:18] = 3.0, 0.5
    valid = torch.ones(1, 27, dtype=torch.bool)
    assert best(scores, valid, 1, smooth=9)[0, :9].any()
    p = scores.softmax(1).view(3, 9).mean(1)
    many = draw_runs(scores.expand(20_000, -1), valid.expand(20_000, -1), 9, 9, 0.0, _unshifted())
    found = (many.kept.view(-1, 3, 9).sum(2) > 0).float().mean(0)
    torch.testing.assert_close(found, p / p.sum(), atol=0.02, rtol=0)


def _unshifted() -> torch.Generator:
    """A generator under which runs of nine begin at the first unit."""
    seed = next(seed for seed in range(1000) if int(torch.randint(9, (1,), generator=generator(seed))) == 0)
    return generator(seed)


def test_runs_of_one_are_single_units() -> None:
    found, single = (way(SCORES, VALID, 2, *rest, 0.2, generator(3)) for way, rest in ((draw_runs, (1,)), (draw, ())))
    assert torch.equal(found.kept.sum(1), single.kept.sum(1))


def test_a_draw_is_hard_and_has_slopes() -> None:
    scores = SCORES.clone().requires_grad_()
    drawn = draw(scores, VALID, 2, 0.1, generator(3))
    assert set(drawn.kept.detach().round(decimals=5).flatten().tolist()) <= {0.0, 1.0}
    assert (drawn.kept.sum(1).round() == number(2, VALID)).all()
    assert not drawn.excess.any()
    (drawn.kept * torch.arange(5.0)).sum().backward()
    assert scores.grad is not None
    assert scores.grad[0].abs().sum() > 0
    assert not scores.grad[~VALID].any()


def test_gates_open_as_often_as_they_say() -> None:
    scores = torch.tensor([[2.0, -1.0, 0.0]]).expand(20_000, -1)
    valid = torch.tensor([[1, 1, 0]], dtype=torch.bool).expand(20_000, -1)
    drawn = gates(scores, valid, 1, 0.1, generator(0))
    want = 0.9 * scores[0].sigmoid() + 0.05
    torch.testing.assert_close(drawn.kept.mean(0)[:2], want[:2], atol=0.01, rtol=0)
    assert not drawn.kept[:, 2].any()
    both = (drawn.kept[:, :2] > 0.5).all(1)
    assert float(drawn.log_prob[both][0].exp()) == pytest.approx(float(want[0] * want[1]), abs=1e-4)
    assert float(drawn.excess[both][0]) == pytest.approx(0.5, abs=1e-4)  # two of two kept, one wanted


def test_breaks_beyond_one_run_count() -> None:
    valid = torch.ones(3, 6, dtype=torch.bool)
    kept = torch.tensor([[0, 1, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1]]).float()
    assert transitions(kept, valid).tolist() == pytest.approx([0, 3 / 6, 0])


@pytest.mark.parametrize("how", ["draw", "runs", "gates"])
def test_what_is_drawn_of_rounded_scores_is_not_rounded(how: str) -> None:
    """In mixed precision scores are bfloat16, in which a chance of nearly 1 is 1 and its logit no number."""

    def drawn(scores: Tensor) -> tuple[Drawn, Tensor]:
        leaf = scores.clone().requires_grad_()
        given = (leaf, VALID, 1, *((2,) if how == "runs" else ()), 0.0, generator(4))
        found = {"draw": draw, "runs": draw_runs, "gates": gates}[how](*given)
        loss = (found.kept * torch.arange(5.0)).sum() + found.log_prob.sum()
        return found, torch.autograd.grad(loss, leaf)[0].float()

    rounded = (20 * SCORES).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        got, slopes = drawn(rounded)
    want, exact = drawn(rounded.float())
    assert got.kept.dtype == torch.float32
    torch.testing.assert_close(got.kept, want.kept)
    torch.testing.assert_close(got.log_prob, want.log_prob)
    assert bool(slopes.isfinite().all())
    torch.testing.assert_close(slopes, exact, atol=0.02, rtol=0.02)
