"""Averages over rows against the weights of a linear model."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from reproduce.claims.grounds import on, perceptron, table
from unmask.models import bind, wrap
from unmask.nets import TableNet, read
from unmask.reproduce.claims.ground import Ground
from unmask.reproduce.claims.weights import GLOBAL, _resampled, linear_weights, sizes


@pytest.fixture(scope="module")
def line() -> Ground:
    data = table()
    net = TableNet(read(data), 2, ())
    with torch.no_grad():
        net.body[0].weight.copy_(torch.tensor([[0.0] * 6, [1.0, -0.1, 0.6, 0.03, -0.3, 2.0]]))
        net.body[0].bias.zero_()
    return on(bind(wrap(net.eval()), data), data)


def test_the_truth_is_the_difference_of_the_weights(line: Ground) -> None:
    torch.testing.assert_close(sizes(line), torch.tensor([1.0, 0.1, 0.6, 0.03, 0.3, 2.0]))
    with pytest.raises(TypeError, match="no linear model"):
        sizes(perceptron(line.data))


def test_integrated_gradients_of_a_linear_model_rank_as_its_weights(line: Ground) -> None:
    value, low, high = linear_weights(line, "integrated-gradients")["rank-correlation"]
    assert value == pytest.approx(1)
    assert 0.9 < low <= value <= high <= 1 + 1e-6


def test_gradients_rank_by_the_units_of_the_columns(line: Ground) -> None:
    """d log p / d x_j is w_j over the column's spread: in other units, another order."""
    scale = read(line.data).scale
    shown = linear_weights(line, "gradient")["rank-correlation"]
    assert isinstance(shown, tuple)
    truth = stats.spearmanr((sizes(line) / scale).numpy(), sizes(line).numpy()).statistic
    assert shown[0] == pytest.approx(truth)


def test_the_interval_is_over_resampled_rows() -> None:
    scores, truth = torch.rand(40, 6), torch.arange(6.0)
    value, low, high = _resampled(scores, truth, 0)
    assert value == pytest.approx(stats.spearmanr(scores.double().mean(0).numpy(), truth.numpy()).statistic)
    assert low <= value <= high
    assert low < high
    same = torch.arange(6.0).expand(40, -1)
    assert _resampled(same, truth, 0) == (pytest.approx(1), pytest.approx(1), pytest.approx(1))


def test_global_importance_stands_beside(line: Ground) -> None:
    for row in GLOBAL:
        value, low, high = linear_weights(line, row)["rank-correlation"]
        assert -1 <= low <= value <= high <= 1
    assert linear_weights(line, "mean-shapley")["rank-correlation"][0] > 0.9
