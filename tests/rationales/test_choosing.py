"""Budgets, best units, runs and draws, against counting and closed forms."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from unmask.errors import InputError
from unmask.rationales.choosing import best, check, number
from unmask.rationales.draws import draw, gates
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
