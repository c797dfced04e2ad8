"""The two toys of interlocking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr

from unmask.reproduce import landscape

GRID = np.linspace(0, 1, 201)


def test_the_game_has_two_traps() -> None:
    assert landscape.equilibria() == [(0, 0), (1, 1)]
    assert landscape.equilibria(((0.0, -1.0), (-2.0, -3.0))) == [(0, 0)]


@pytest.mark.parametrize("first", ["generator", "predictor"])
@pytest.mark.parametrize("start", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_best_responses_end_in_a_trap_and_always_pay(start: tuple[int, int], first: str) -> None:
    steps = landscape.path(start, first)
    assert steps[0] == start
    assert steps[-1] in landscape.equilibria()
    paid = [landscape.PAYOFF[i][j] for i, j in steps]
    assert paid == sorted(paid)


def test_who_moves_first_decides_which_trap() -> None:
    assert landscape.path((0, 1), "generator")[-1] == (1, 1)
    assert landscape.path((0, 1), "predictor")[-1] == (0, 0)


def test_the_hard_loss_is_concave_and_the_soft_one_convex() -> None:
    assert np.diff(landscape.rationale_loss(GRID), 2).max() <= 1e-6
    assert np.diff(landscape.rationale_loss(GRID), 2).min() < -1e-5  # and not merely a line
    soft = np.diff(landscape.attention_loss(GRID), 2)
    assert soft.min() >= -1e-6
    assert soft.max() > 1e-5


def test_at_the_corners_both_are_the_loss_of_one_sentence_alone() -> None:
    ends = np.array([0.0, 1.0])
    want = [entr(p) + entr(1 - p) for p in (landscape.P[1], landscape.P[0])]
    np.testing.assert_allclose(landscape.rationale_loss(ends), want, atol=1e-9)
    np.testing.assert_allclose(landscape.attention_loss(ends), want, atol=1e-7)
    np.testing.assert_allclose(landscape.agreement(ends), 0.0, atol=1e-5)


def test_the_soft_loss_against_a_grid_of_evidence() -> None:
    weight = 0.3
    signs, chances = landscape._cases()
    assert chances.sum() == pytest.approx(1)
    a, b = (np.linspace(-landscape.BOUND * w, landscape.BOUND * w, 801) for w in (weight, 1 - weight))
    margin = signs[:, 0, None, None] * a[:, None] + signs[:, 1, None, None] * b
    slow = (chances[:, None, None] * np.logaddexp(0, -margin)).sum(0).min()
    assert float(landscape.attention_loss(np.array([weight]))[0]) == pytest.approx(slow, abs=1e-4)


def test_agreement_is_wanted_between_the_corners() -> None:
    told = landscape.agreement(GRID)
    assert told[1:-1].min() > 0
    assert told.max() <= np.log(2)


def downhill(line: np.ndarray, at: int) -> int:
    """Where steps to a lower neighbour end."""
    while True:
        best = min((i for i in (at - 1, at, at + 1) if 0 <= i < len(line)), key=lambda i: line[i])
        if best == at:
            return at
        at = best


def test_with_disagreement_the_line_lies_between_and_leads_out_of_the_poor_end() -> None:
    hard, soft = landscape.rationale_loss(GRID), landscape.attention_loss(GRID)
    both = soft + landscape.agreement(GRID)
    assert bool((both >= soft - 1e-6).all())
    assert bool((both <= hard + 1e-6).all())
    assert GRID[downhill(hard, 200)] == 1.0  # the hill keeps whoever stands at the poor end
    assert GRID[downhill(both, 200)] == pytest.approx(0.61, abs=0.02)  # A2R leads away, not all the way
    assert GRID[downhill(both, 80)] == pytest.approx(0.05, abs=0.03)
    assert GRID[downhill(soft, 200)] < 0.3
