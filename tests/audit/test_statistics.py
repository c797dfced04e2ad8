from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

from unmask import seeds
from unmask.audit.statistics import Bootstrap, balanced, by_row, holm, level


def test_the_interval_of_a_mean_agrees_with_the_normal_one():
    values = torch.randn(400, generator=seeds.generator(0)) + 2
    value, low, high = Bootstrap(400, 0).interval(values)
    error = 1.96 * float(values.std()) / 20
    assert value == pytest.approx(float(values.mean()))
    assert low == pytest.approx(value - error, abs=0.02)
    assert high == pytest.approx(value + error, abs=0.02)


def test_the_interval_agrees_with_scipy():
    values = torch.rand(150, generator=seeds.generator(1)) ** 2
    ours = Bootstrap(150, 0).interval(values)
    theirs = stats.bootstrap((values.numpy(),), lambda v, axis: v.mean(axis), method="percentile", rng=0)
    assert ours[1:] == pytest.approx(tuple(theirs.confidence_interval), abs=0.012)


def test_a_ratio_is_of_means_not_a_mean_of_ratios():
    own, over = torch.tensor([1.0, 0.0, 2.0, 1.0]), torch.tensor([4.0, 4.0, 2.0, 2.0])
    value, low, high = Bootstrap(4, 0).interval(own, over)
    assert value == pytest.approx(1 / 3)
    assert low < value < high


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        values = (torch.rand(60, generator=seeds.generator(seed)) < 0.3).float()
        _, low, high = Bootstrap(60, seed).interval(values)
        hits += low <= 0.3 <= high
    assert 180 <= hits <= 199  # 95 % of 200 within four standard errors, a little under for small samples


def test_examples_without_a_value_are_left_out():
    values = torch.tensor([1.0, 1.0, torch.nan, torch.nan])
    assert Bootstrap(4, 0).interval(values)[0] == 1.0
    assert all(math.isnan(v) for v in Bootstrap(4, 0).interval(torch.full((4,), torch.nan)))


@pytest.mark.slow
def test_p_values_are_uniform_where_there_is_no_difference_and_small_where_there_is():
    none = [Bootstrap(100, s).p_above(torch.randn(100, generator=seeds.generator(s))) for s in range(100)]
    assert stats.kstest(none, "uniform").pvalue > 0.01
    assert Bootstrap(100, 0).p_above(torch.randn(100, generator=seeds.generator(0)) + 1) < 0.001
    assert Bootstrap(100, 0).p_above(torch.zeros(100)) == 1.0


def test_balanced_weights_give_each_class_the_same_say():
    target = torch.tensor([0, 0, 0, 2])
    assert balanced(target).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_holm_by_hand():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}


def test_one_number_for_each_row_whose_mean_is_the_value():
    values, over = torch.rand(40, generator=seeds.generator(0)), 1 + torch.rand(40, generator=seeds.generator(1))
    assert by_row(values) == pytest.approx(values.tolist())
    ratio = by_row(values, over)
    assert sum(ratio) / 40 == pytest.approx(float(values.mean() / over.mean()))
    spread = torch.tensor(ratio).std() / 40**0.5  # the delta method against the bootstrap
    _, low, high = Bootstrap(40, 0).interval(values, over)
    assert float(spread) == pytest.approx((high - low) / 3.92, rel=0.1)


def test_few_values_among_many_examples_are_never_taken_for_nothing():
    values = torch.full((500,), torch.nan)
    values[[3, 70, 400]] = 3.0
    assert Bootstrap(500, 0).interval(values) == (3.0, 3.0, 3.0)
    assert Bootstrap(500, 0).p_above(values) < 0.1  # resamples without a value count against it
    assert Bootstrap(500, 0).p_above(values) > 0.01


def test_a_ratio_leaves_out_what_is_missing():
    values, over = torch.tensor([1.0, 3.0, torch.nan]), torch.tensor([2.0, torch.nan, 6.0])
    assert level(values, over) == 0.5
