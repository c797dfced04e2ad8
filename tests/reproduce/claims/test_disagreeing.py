"""Pairs of methods that must agree, and measures that are those of the definitions."""

from __future__ import annotations

import torch

from reproduce.claims.grounds import W, exponential, table
from unmask.reproduce.claims.disagreeing import METHODS, PAIRS, disagreement


def test_every_pair_once() -> None:
    assert len(PAIRS) == 15
    assert all(set(pair.split(" and ")) <= set(METHODS) for pair in PAIRS)


def test_gradient_and_its_smooth_form_agree_where_the_slope_is_one_everywhere() -> None:
    found = disagreement(exponential(table()), "gradient and smoothgrad")
    for name, values in found.items():
        whole = 1.0 if name == "rank-correlation" else 100.0
        torch.testing.assert_close(values, torch.full((20,), whole), msg=name)


def test_signs_are_those_of_the_slopes() -> None:
    at = exponential(table())
    e = at.explain(*METHODS["gradient"])
    torch.testing.assert_close(e.scores, W.expand(20, -1), atol=1e-6, rtol=1e-4)


def test_gradient_and_gradient_times_input_disagree_by_the_input() -> None:
    at = exponential(table())
    found = disagreement(at, "gradient and gradient-x-input")
    order = (W * at.x).abs().argsort(dim=1, descending=True)
    best = W.abs().argsort(descending=True)[:2]
    truth = torch.stack([torch.isin(row[:2], best).float().mean() for row in order])
    torch.testing.assert_close(found["feature-agreement"], 100 * truth)
    torch.testing.assert_close(found["rank-agreement"], 100 * (order[:, :2] == best).float().mean(1))
    torch.testing.assert_close(found["sign-agreement"], found["feature-agreement"])  # inputs are positive
