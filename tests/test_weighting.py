"""The parts of mask-neutral weighting, against their formulas."""

from __future__ import annotations

import pytest
import torch

from unmask.seeds import generator
from unmask.weighting import FLOOR, MaskNet, Weighed, by_other_half, frequencies, unsound, weights


def test_weights_are_the_fair_probability_over_the_told_one() -> None:
    fair, told = torch.tensor([[0.3, 0.7]]).expand(3, 2), torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.999, 0.001]])
    got = weights(fair, told, torch.tensor([0, 1, 1]))
    torch.testing.assert_close(got, torch.tensor([0.3 / 0.9, 0.7 / 0.6, 0.7 / FLOOR]))
    torch.testing.assert_close(weights(fair, told, torch.tensor([0, 1, 1]), 0.001)[2], torch.tensor(0.7 / 0.001))


def test_calibrated_weights_have_mean_one_and_make_mask_and_answer_independent() -> None:
    """A mask that is right in four of five rows; by count: the mean of w is 1, and weighted, it is right in half."""
    rng, n = generator(0), 20_000
    y = (torch.rand(n, generator=rng) < 0.3).long()
    mask = torch.where(torch.rand(n, generator=rng) < 0.2, 1 - y, y)
    joint = torch.stack([torch.bincount(y[mask == m], minlength=2) for m in (0, 1)]).float()
    told = (joint / joint.sum(1, keepdim=True))[mask]
    w = weights((y.bincount() / n).expand(n, 2), told, y)
    assert float(w.mean()) == pytest.approx(1, abs=1e-3)
    for m in (0, 1):
        own = mask == m
        assert float((w * y)[own].sum() / w[own].sum()) == pytest.approx(float(y.float().mean()), abs=1e-3)


def test_frequencies_run_along() -> None:
    got = frequencies(torch.tensor([0.3, 0.7]), torch.tensor([1, 1, 0, 1]))
    torch.testing.assert_close(got, 0.99 * torch.tensor([0.3, 0.7]) + 0.01 * torch.tensor([0.25, 0.75]))


def test_a_row_is_told_by_the_classifier_that_does_not_learn_it() -> None:
    first, second = torch.zeros(4, 2), torch.ones(4, 2)
    assert by_other_half(torch.arange(4), first, second)[:, 0].tolist() == [1, 0, 1, 0]


def test_health_is_that_of_the_last_epoch() -> None:
    weighed = Weighed(2)
    for w in ([9.0, 9.0], [0.5, 1.5], [1.0, 2.0]):
        weighed.note(torch.tensor(w), torch.tensor([True, False]))
    assert weighed.health() == {"mean": 1.25, "lowest": 0.5, "highest": 2.0, "mask classifier": 0.5}


def test_a_mean_far_from_one_is_a_warning() -> None:
    for value, warned in ((1.0, False), (0.7, True), (1.3, True)):
        weighed = Weighed(1)
        weighed.note(torch.tensor([value]), torch.tensor([True]))
        assert bool(weighed.warnings()) == warned


def test_what_is_said_names_the_weights() -> None:
    assert unsound(1.0) == unsound(0.8) == unsound(1.25) == []
    (said,) = unsound(0.5, " of the selections")
    assert said.startswith("the weights of the selections have mean 0.50, not 1")


def test_the_capacity_of_the_mask_classifier() -> None:
    linear, deep = MaskNet(5, 3, 0), MaskNet(5, 3, 7)
    kept = torch.rand(4, 5, generator=generator(0))
    torch.testing.assert_close(linear(kept, kept), linear.body[0](kept))
    assert [tuple(p.shape) for p in deep.parameters()] == [(7, 5), (7,), (7, 7), (7,), (3, 7), (3,)]
