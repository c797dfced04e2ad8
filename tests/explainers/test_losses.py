"""Losses of the left-out side against slow versions and known values."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from unmask.explainers.losses import DIRECTIONS, denying, flipped, sliced_wasserstein
from unmask.seeds import generator
from unmask.training import soft_cross_entropy


def answers(n: int, classes: int, seed: int = 0) -> Tensor:
    return (2 * torch.randn(n, classes, generator=generator(seed))).softmax(1)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_flipped_answers_are_distributions(classes: int) -> None:
    p = answers(20, classes)
    got = flipped(p)
    torch.testing.assert_close(got.sum(1), torch.ones(20))
    assert bool((got >= 0).all())
    assert torch.equal(got.argsort(1), p.argsort(1, descending=True))
    torch.testing.assert_close(flipped(torch.eye(classes)).diagonal(), torch.zeros(classes))


def test_a_flipped_target_of_two_classes_is_the_swapped_one() -> None:
    p, logits = answers(20, 2), torch.randn(20, 2, generator=generator(1))
    torch.testing.assert_close(soft_cross_entropy(logits, flipped(p)), soft_cross_entropy(logits.flip(1), p))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_denying_is_minus_the_log_of_any_other_answer(classes: int) -> None:
    p, logits = answers(20, classes), torch.randn(20, classes, generator=generator(1))
    torch.testing.assert_close(denying(logits, p), -(1 - (p * logits.softmax(1)).sum(1)).log())
    sure = torch.eye(classes)  # as does a model that is quite sure
    torch.testing.assert_close(denying(logits[:classes], sure), -(1 - logits[:classes].softmax(1).diagonal()).log())


def test_denying_lets_any_wrong_answer_do_where_flipped_wants_all_alike() -> None:
    p, wrong, none = torch.eye(10)[:1], 8 * torch.eye(10)[1:2], torch.zeros(1, 10)
    assert float(denying(wrong, p)) < float(denying(none, p)) < float(denying(8 * p, p))
    assert float(soft_cross_entropy(wrong, flipped(p))) > float(soft_cross_entropy(none, flipped(p)))


def directions(classes: int, rng: torch.Generator) -> list[list[float]]:
    """Two classes: equally spaced angles with one random turn; more: points of a normal law, of length one."""
    if classes == 2:
        turn = float(torch.rand((), generator=rng))
        angles = [2 * math.pi * (i / DIRECTIONS + turn) for i in range(DIRECTIONS)]
        return [[math.cos(a), math.sin(a)] for a in angles]
    drawn = torch.randn(classes, DIRECTIONS, generator=rng).T.tolist()
    return [[value / math.hypot(*row) for value in row] for row in drawn]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_distance_is_the_slow_one(classes: int) -> None:
    a, b = answers(9, classes), answers(9, classes, 1)
    total = 0.0
    for theta in directions(classes, generator(3)):
        first, second = (
            sorted(sum(x * t for x, t in zip(row, theta, strict=True)) for row in batch.tolist()) for batch in (a, b)
        )
        total += sum(abs(x - y) for x, y in zip(first, second, strict=True)) / 9 / DIRECTIONS
    assert float(sliced_wasserstein(a, b, generator(3))) == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_distance_compares_batches_not_rows(classes: int) -> None:
    a, b = answers(16, classes), answers(16, classes, 1)
    order = torch.randperm(16, generator=generator(2))
    there = sliced_wasserstein(a, b, generator(0))
    assert float(there) > 0.01
    assert float(sliced_wasserstein(a, a, generator(0))) == 0.0
    assert float(sliced_wasserstein(a, a[order], generator(0))) == pytest.approx(0.0, abs=1e-6)
    torch.testing.assert_close(sliced_wasserstein(a[order], b, generator(0)), there)
    torch.testing.assert_close(sliced_wasserstein(b, a, generator(0)), there)


def test_the_distance_of_two_opposite_batches_is_known() -> None:
    """One row each, (1, 0) against (0, 1): the mean of |cos t - sin t| over the circle, 2 sqrt(2) / pi."""
    a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert float(sliced_wasserstein(a, b, generator(0))) == pytest.approx(2 * math.sqrt(2) / math.pi, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_directions_are_fresh_and_gradients_flow(classes: int) -> None:
    a, b, rng = answers(8, classes).requires_grad_(), answers(8, classes, 1), generator(0)
    first, second = sliced_wasserstein(a, b, rng), sliced_wasserstein(a, b, rng)
    assert float(first.detach()) != float(second.detach())
    (grad,) = torch.autograd.grad(first, a)
    assert bool((grad.abs().sum(1) > 0).all())
