"""The axioms where they are known to hold, and where they are known to break."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reproduce.claims.grounds import exponential, perceptron, table
from unmask.nets import read
from unmask.reproduce.claims.axioms import Saturated, Twin, axioms, incomplete, insensitive, variant
from unmask.types import Dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return table()


def test_integrated_gradients_of_a_line_are_complete(data: Dataset) -> None:
    at = exponential(data)
    assert float(incomplete(at, at.make("integrated-gradients")).max()) < 1e-2  # per cent, so 1e-4 of the whole
    zero = at.make("gradient-x-input", removal="zero")
    gap = (at.ask(zero).scores.sum(1) - (at.x @ at.model.module.w).detach()).abs()  # type: ignore[union-attr]
    assert float(gap.max()) < 1e-6
    assert float(incomplete(at, zero).mean()) > 1  # held to the mean, gradient times input misses


def test_a_twin_is_the_same_function(data: Dataset) -> None:
    at = perceptron(data)
    assert at.model.module is not None
    twin = Twin(at.model.module, read(data).centre)
    x = torch.randn(50, 6)
    torch.testing.assert_close(twin(x), at.model.module(x), atol=1e-5, rtol=1e-5)
    assert sum(isinstance(m, nn.ReLU) for m in twin.modules()) == 3  # one more than the network has


def test_who_sees_how_the_same_function_is_written(data: Dataset) -> None:
    at = perceptron(data)
    for method in ("gradient", "gradient-x-input", "integrated-gradients", "kernel-shap"):
        assert float(variant(at, at.make(method)).max()) < 0.01, method


def test_a_saturated_column_counts_and_has_no_slope(data: Dataset) -> None:
    reader = read(data)
    net = Saturated(reader)
    x = (reader.centre + 2 * reader.scale)[None].requires_grad_()
    said = net(x)[0, 1]
    assert float(said.detach()) == pytest.approx(6)
    assert float(torch.autograd.grad(said, x)[0].abs().max()) == 0
    half = reader.centre + 0.5 * reader.scale
    assert float(net(half[None])[0, 1].detach()) == pytest.approx(3, abs=1e-5)


@pytest.mark.parametrize(("method", "broken"), [("gradient", 100), ("gradient-x-input", 100), ("occlusion", 0)])
def test_who_is_insensitive(data: Dataset, method: str, broken: float) -> None:
    at = perceptron(data)
    found = insensitive(at, at.make(method))
    assert found.tolist() == [broken] * 6


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ("integrated-gradients", {"sensitivity-broken", "invariance-broken", "completeness-gap"}),
        ("kernel-shap", {"sensitivity-broken", "invariance-broken", "completeness-gap"}),
        ("gradient-x-input", {"invariance-broken"}),
        ("guided-backprop", set()),
    ],
)
def test_which_axioms_each_method_keeps(data: Dataset, row: str, kept: set[str]) -> None:
    found = {name: float(torch.as_tensor(v).mean()) for name, v in axioms(perceptron(data), row).items()}
    assert {name for name, value in found.items() if value < 1} == kept
