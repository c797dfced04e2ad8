"""Budgets, best units, runs and draws, against counting and closed forms."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import pytest
import torch

from unmask.errors import InputError
from unmask.rationales.choosing import best, check, draw, draw_runs, explored, gates, number, transitions
from unmask.seeds import generator

VALID = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], dtype=torch.bool)
SCORES = torch.tensor([[0.1, 2.0, -1.0, 1.5, 0.0], [3.0, 1.0, 2.0, 9.0, 9.0], [0.0, 9.0, 9.0, 9.0, 9.0]])


def test_budgets() -> None:
    assert number(2, VALID).tolist() == [2, 2, 1]
    assert number(0.4, VALID).tolist() == [2, 1, 1]
    for wrong in ({"k": 0}, {"k": 1.0}, {"k": True}, {"explore": 1.0}, {"tau": 0.0}, {"lam": -1.0}, {"skew": -1}):
        with pytest.raises(InputError):
            check(SimpleNamespace(**{"k": 2, "skew": 0, **wrong}))
    check(SimpleNamespace(k=0.2, skew=0, explore=None))


def test_the_best_are_those_with_the_highest_scores() -> None:
    assert best(SCORES, VALID, 2).int().tolist() == [[0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 0, 0, 0, 0]]


def test_smoothed_scores_favour_neighbours() -> None:
    scores = torch.tensor([[-4.0, -4.0, 4.0, -4.0, -4.0, 3.0, 3.0, 3.0, -4.0, -4.0]])
    valid = torch.ones(1, 10, dtype=torch.bool)
    assert best(scores, valid, 1)[0].int().argmax() == 2
    assert best(scores, valid, 1, smooth=3)[0].int().argmax() == 6
    alpha = scores.softmax(1)[0]
    want = [float(alpha[max(0, i - 1) : i + 2].mean()) for i in range(10)]
    order = sorted(range(10), key=lambda i: -want[i])[:3]
    assert best(scores, valid, 3, smooth=3)[0].nonzero()[:, 0].tolist() == sorted(order)


def slow_runs(scores: list[float], length: int, wanted: int, spans: int) -> list[int]:
    kept: set[int] = set()
    size = -(-wanted // spans)
    for _ in range(spans):
        run = min(size, wanted - len(kept))
        starts = [s for s in range(length - run + 1) if not kept & set(range(s, s + run))]
        if run and starts:
            start = max(starts, key=lambda s: sum(scores[s : s + run]))
            kept |= set(range(start, start + run))
    while len(kept) < wanted:
        beside = [i for i in range(length) if i not in kept and {i - 1, i + 1} & kept]
        kept.add(max(beside, key=lambda i: scores[i]))
    return sorted(kept)


@pytest.mark.parametrize("spans", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 4, 0.3])
def test_runs_are_the_best_one_after_the_other(spans: int, k: int | float) -> None:
    scores = torch.randn(20, 15, generator=generator(1))
    valid = torch.arange(15) < torch.randint(4, 16, (20, 1), generator=generator(2))
    found = best(scores, valid, k, spans=spans)
    alpha = scores.masked_fill(~valid, -torch.inf).softmax(1).double()
    for i in range(20):
        length, wanted = int(valid[i].sum()), int(number(k, valid)[i])
        assert found[i].nonzero()[:, 0].tolist() == slow_runs(alpha[i].tolist(), length, wanted, spans)
    assert torch.equal(found.sum(1), number(k, valid))
    edges = torch.nn.functional.pad(found.int(), (1, 1)).diff(dim=1)
    assert int((edges > 0).sum(1).max()) <= spans


def test_runs_grow_where_no_whole_one_fits() -> None:
    scores = torch.tensor([[0.0, 5.0, 5.0, 0.0]])
    assert best(scores, torch.ones(1, 4, dtype=torch.bool), 4, spans=2).all()
    assert best(scores, torch.ones(1, 4, dtype=torch.bool), 3, spans=3).sum() == 3


def test_a_row_without_units_keeps_none_and_breaks_nothing() -> None:
    none = torch.zeros(1, 3, dtype=torch.bool)
    scores = torch.zeros(1, 3, requires_grad=True)
    for way in (draw, gates):
        drawn = way(scores, none, 2, 0.1, generator(0))
        assert not drawn.kept.any()
        assert torch.isfinite(drawn.log_prob).all()
        (drawn.kept.sum() + drawn.log_prob.sum()).backward()
        assert torch.isfinite(scores.grad).all()


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


def test_runs_are_drawn_whole_by_the_mean_of_their_scores() -> None:
    valid = torch.arange(24) < torch.tensor([24, 17, 3, 1])[:, None]
    scores = torch.randn(4, 24, generator=generator(5), requires_grad=True)
    for seed in range(20):
        found = draw_runs(scores, valid, 0.25, 3, 0.1, generator(seed))
        assert not bool((found.kept.detach() * ~valid).any())
        for row, there in zip(found.kept.detach(), valid.sum(1).tolist(), strict=True):
            edges = (row[1:there] != row[: there - 1]).nonzero()[:, 0] + 1
            assert len(set((edges % 3).tolist())) <= 1  # runs begin and end at every third unit
            assert 1 <= int(row.sum()) <= 8
    assert torch.autograd.grad(found.kept.sum() + found.log_prob.sum(), scores)[0].abs().sum() > 0
    heavy = torch.zeros(1, 24)
    heavy[0, 9:12] = 50.0
    sure = draw_runs(heavy, torch.ones(1, 24, dtype=torch.bool), 3, 3, 0.0, generator(1))
    assert float(sure.kept[0, 9:12].sum()) >= 1
    assert float(sure.log_prob) == pytest.approx(0.0, abs=1e-3)


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
