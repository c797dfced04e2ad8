"""What depends on settings and what does not, where scores are known in closed form."""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor

from reproduce.claims.grounds import W, exponential, summing, table
from unmask.audit.stability import shared
from unmask.distances import spearman
from unmask.masking import subsets
from unmask.reproduce.claims.settings import _lime, ig_baseline, lime_kernel, lime_samples, shap_background
from unmask.types import Dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return table()


def expected(a: Tensor, b: Tensor) -> dict[str, Tensor]:
    every = torch.ones_like(a, dtype=torch.bool)
    kept = [subsets.topk(scores, 2, every) for scores in (a, b)]
    return {"overlap": 100 * shared(*kept), "correlation": spearman(a, b, every)}


def check(found: dict[str, Tensor], truth: dict[str, Tensor]) -> None:
    assert set(found) == set(truth)
    for name, values in truth.items():
        torch.testing.assert_close(found[name], values, msg=name)
    assert float(truth["overlap"].mean()) < 90  # the two baselines do tell other stories here


def test_shapley_values_of_a_sum_move_with_the_background(data: Dataset) -> None:
    """phi_j = w_j (x_j - b_j)."""
    at, mean = summing(data), data.train.x.mean(0)
    check(shap_background(at, "mean and zero"), expected(W * (at.x - mean), W * at.x))


def test_integrated_gradients_move_with_the_baseline(data: Dataset) -> None:
    """IG_j = w_j (x_j - b_j)."""
    at, mean = exponential(data), data.train.x.mean(0)
    found = at.explain("integrated-gradients").scores
    torch.testing.assert_close(found, W * (at.x - mean), atol=1e-6, rtol=1e-4)
    check(ig_baseline(at, "zero and mean"), expected(W * at.x, W * (at.x - mean)))


def test_the_same_background_law_with_other_rows(data: Dataset) -> None:
    found = shap_background(summing(data), "marginal again")
    assert 0 < float(found["overlap"].mean()) < 100
    same = shap_background(summing(data), "mean again")
    assert float(same["overlap"].min()) == 100  # a mean does not ask for the order of the rows


def test_a_line_is_the_same_through_any_kernel_and_any_draws(data: Dataset) -> None:
    """Of a sum, LIME finds w_j (x_j - b_j) up to its penalty whatever the weights of the masks: the claim fails."""
    at = summing(data)
    found = lime_kernel(at, "width=3")
    assert float(found["overlap"].min()) == 100
    assert float(found["drop"].abs().max()) == 0
    assert float(lime_samples(at, "samples=300")["overlap"].min()) == 100


def test_a_kernel_without_end_weighs_all_masks_alike(data: Dataset) -> None:
    at = summing(data)
    explainer = at.make("lime", {"samples": 1000, "distance": "euclidean", "sigma": 1e6})
    z = explainer._draw("bernoulli", 6)
    mean = data.train.x.mean(0)
    y = torch.stack([0.3 + torch.where(m, at.x[0], mean) @ W for m in z])
    reference = Ridge(alpha=1.0).fit(z.double().numpy(), y.double().numpy()).coef_
    torch.testing.assert_close(at.ask(explainer).scores[0].double(), torch.tensor(reference), atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(_lime(at, 1e6 / 6**0.5).scores, at.ask(explainer).scores)


def test_a_kernel_of_no_width_sees_nothing_but_the_row(data: Dataset) -> None:
    """All other masks weigh nothing, and the penalty leaves no score."""
    assert float(_lime(summing(data), 0.01).scores.abs().max()) < 1e-6
