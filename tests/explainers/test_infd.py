"""INFD against the formula, closed forms, and the infidelity of other methods on draws it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from captum.metrics import infidelity
from torch import Tensor, nn

from explainers.samples import K, model, task
from nets.samples import GROUPED, PLAIN, TEXTS, dataset, grid, values
from unmask.errors import InputError
from unmask.explainers.infd import INFD
from unmask.masking import subsets
from unmask.methods import make
from unmask.models import wrap
from unmask.types import Layout

OTHERS = ["gradient", "gradient-x-input", "integrated-gradients", "occlusion", "lime", "kernel-shap"]
SLOPES = torch.tensor([0.03, -0.02, 0.01, 0.04, -0.05])
ROUNDING = 1e-12  # of squared differences of answers, which have seven digits


class Line(nn.Module):
    """p(class 0) is a line in the columns; the rest is shared by the other two classes."""

    def __init__(self) -> None:
        super().__init__()
        self.slopes = nn.Parameter(SLOPES.clone())

    def forward(self, x: Tensor) -> Tensor:
        p = 0.5 + x @ self.slopes[: x.shape[1]]
        return torch.stack([p, 0.3 * (1 - p), 0.7 * (1 - p)], 1)


def curve(x: Any) -> Tensor:
    """Three classes, with interactions of neighbouring columns."""
    rows = torch.as_tensor(x, dtype=torch.float32) / 3
    weight = torch.randn(2 * rows.shape[1], 3, generator=torch.Generator().manual_seed(2))
    return (torch.cat([rows, rows * rows.roll(1, 1)], 1) @ weight / 2).softmax(1)


def removed(e: Any, predict: Any, removal: Any, rescaled: bool) -> float:
    """Mean infidelity, by captum, of scores over units when random units are removed; new draws."""
    rng = torch.Generator().manual_seed(99)

    def perturb(units: Tensor) -> tuple[Tensor, Tensor]:
        gone = subsets.any_size(torch.ones(units.shape, dtype=torch.bool), rng)
        return gone.to(units), units * ~gone

    def said(units: Tensor) -> Tensor:  # captum repeats each row's units, 1 where shown and 0 where removed
        rows = e.x.repeat_interleave(len(units) // len(e), 0)
        (version,) = removal.versions(rows, units > 0)
        return torch.as_tensor(predict(version)).detach().double()

    got = infidelity(
        said,
        perturb,
        torch.ones(e.scores.shape).double(),  # captum subtracts squares: in float32 that leaves only rounding
        e.scores.double(),
        target=e.target.tolist(),
        n_perturb_samples=2000,
        max_examples_per_batch=len(e) * 50,
        normalize=rescaled,
    )
    return float(got.mean())


@pytest.mark.slow
@pytest.mark.parametrize("rescaled", [False, True], ids=["as they are", "rescaled"])
@pytest.mark.parametrize("kind", ["line", pytest.param("network", marks=pytest.mark.slow)])
def test_no_other_method_is_less_faithful_to_changes(kind: str, rescaled: bool) -> None:
    """On draws that none of them has seen, of a line in the columns and of a convolutional network on images.

    Rescaled, each method is given the factor that suits it best.
    """
    data = dataset(PLAIN, values(PLAIN, 6), classes=3) if kind == "line" else task("image")
    net = wrap(Line(), outputs="probabilities") if kind == "line" else model("image")
    found = {}
    for method in ["infd", *OTHERS]:
        settings = {"samples": 4000} if method in ("infd", "lime", "kernel-shap") else {}
        explainer = make(method, 2, "mean", settings).fit(net, data)
        found[method] = removed(explainer.explain(data.test.x[:6]), net, explainer.task_.removal, rescaled)
    best = found.pop("infd")
    assert best <= min(found.values()) + ROUNDING, (best, found)
    assert best < ROUNDING or kind == "network"
    assert best < 0.5 * max(found.values())


@pytest.mark.parametrize("law", ["removal", "noisy-baseline"])
@pytest.mark.parametrize("layout", [PLAIN, GROUPED], ids=["columns", "groups"])
@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_a_line_is_found_exactly(law: str, layout: Layout, removal: str) -> None:
    data = dataset(layout, values(layout, 12), classes=3)
    explainer = make("infd", 2, removal, {"law": law, "samples": 100}).fit(wrap(Line(), outputs="probabilities"), data)
    e = explainer.explain(data.test.x, target=torch.zeros(12, dtype=torch.long))
    away = data.test.x - explainer.task_.removal.fills.mean(0)
    torch.testing.assert_close(e.scores, layout.gather(away * SLOPES[: layout.shape[0]]), atol=1e-5, rtol=1e-4)
    assert e.origin["infidelity"] < ROUNDING


def test_removal_is_the_formula_on_the_draws_it_makes() -> None:
    """Phi = pinv(sum I I^T) sum I df, from the rows that the model was seen to get."""
    data, rows = dataset(PLAIN, values(PLAIN, 6), classes=3), []

    def watched(x: Any) -> Tensor:
        rows.append(torch.as_tensor(x).clone())
        return curve(x)

    explainer = INFD(2, 40, removal="zero").fit(watched, data)
    rows.clear()
    e = explainer.explain(data.test.x[:1], target=torch.tensor([1]))
    full, *hidden = torch.cat(rows)
    change = np.stack([(row == 0).double().numpy() for row in hidden])
    df = (curve(full[None])[0, 1] - curve(torch.stack(hidden))[:, 1]).double().numpy()
    phi = np.linalg.pinv(sum(np.outer(i, i) for i in change)) @ sum(i * d for i, d in zip(change, df, strict=True))
    np.testing.assert_allclose(e.scores[0].numpy(), phi, atol=1e-6)
    assert e.origin["infidelity"] == pytest.approx(np.mean((change @ phi - df) ** 2), abs=1e-8)
    sizes = change.sum(1)
    assert sizes.min() == 1
    assert sizes.max() == 4


@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_noise_around_the_baseline(removal: str) -> None:
    """captum's infidelity under that law, on new draws: below that of gradients, and none where a line is asked."""
    data = dataset(PLAIN, values(PLAIN, 40), classes=3)
    x, target = data.test.x[:8], torch.arange(8) % 3
    explainer = INFD(2, 4000, "noisy-baseline", removal=removal).fit(curve, data)
    fills, spread = explainer.task_.removal.fills, data.train.x.std(0, correction=0)
    scores = explainer.explain(x, target=target).scores
    leaf = x.clone().requires_grad_()
    slope = torch.autograd.grad(curve(leaf).gather(1, target[:, None]).sum(), leaf)[0]
    away = x - fills.mean(0)

    def left(phi: Tensor) -> float:
        rng = torch.Generator().manual_seed(7)

        def perturb(rows: Tensor) -> tuple[Tensor, Tensor]:
            base = fills[torch.randint(len(fills), (len(rows),), generator=rng)]
            noisy = base + 0.2 * spread * torch.randn(rows.shape, generator=rng)
            return rows - noisy, noisy

        return float(infidelity(curve, perturb, x, phi, target=target.tolist(), n_perturb_samples=3000).mean())

    shapley = make("kernel-shap", 2, removal).fit(curve, data).explain(x, target=target).scores
    best = left(scores / away)
    assert best < min(left(slope), left(slope * x), left(shapley / away), left(torch.zeros_like(x)))
    assert explainer.readings_["infidelity"] == pytest.approx(best, rel=0.1)


def test_noise_on_pixels_is_summed_over_channels_and_patches() -> None:
    layout = grid(3, 4, 2)
    data = dataset(layout, values(layout, 5))
    weight = 0.004 * torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(1))

    def line(x: Any) -> Tensor:
        p = 0.5 + (torch.as_tensor(x) * weight).sum((1, 2, 3))
        return torch.stack([p, 1 - p], 1)

    e = (
        INFD(1, 200, "noisy-baseline", removal="mean")
        .fit(line, data)
        .explain(data.test.x, target=torch.zeros(5).long())
    )
    want = ((data.test.x - data.train.x.mean(0)) * weight).sum(1).view(5, 2, 2, 2, 2).sum((2, 4)).flatten(1)
    torch.testing.assert_close(e.scores, want, atol=1e-5, rtol=1e-4)


def test_columns_of_any_scale_count() -> None:
    """A column a million times smaller than its neighbour is found beside it, and a missing value gets nothing."""
    data = dataset(PLAIN, values(PLAIN, 30) * torch.tensor([1e4, 1.0, 1e-3, 1.0]), classes=3)
    slopes = torch.tensor([2e-6, -0.02, 30.0, 0.01])

    def line(x: Any) -> Tensor:
        p = 0.5 + torch.as_tensor(x).nan_to_num() @ slopes
        return torch.stack([p, (1 - p) / 2, (1 - p) / 2], 1)

    x = data.test.x[:5].clone()
    explainer = INFD(2, 300, "noisy-baseline", removal="mean").fit(line, data)
    e = explainer.explain(x, target=torch.zeros(5, dtype=torch.long))
    torch.testing.assert_close(e.scores, (x - data.train.x.mean(0)) * slopes, atol=1e-5, rtol=1e-4)
    x[:, 1] = torch.nan
    e = explainer.explain(x, target=torch.zeros(5, dtype=torch.long))
    assert bool((e.scores[:, 1] == 0).all())
    assert bool(e.scores.isfinite().all())


@pytest.mark.parametrize("law", ["removal", "noisy-baseline"])
def test_calls_in_parts_give_the_same(monkeypatch: pytest.MonkeyPatch, law: Any) -> None:
    explainer = INFD(K, 80, law).fit(model("table"), task("table"))
    whole = explainer.explain(task("table").test.x).scores
    monkeypatch.setattr("unmask.explainers.lime.CALLS", 7)
    monkeypatch.setattr("unmask.explainers.infd.CALLS", 100)
    torch.testing.assert_close(explainer.explain(task("table").test.x).scores, whole, atol=1e-5, rtol=1e-5)


def test_noise_is_for_numbers() -> None:
    with pytest.raises(InputError) as refused:
        INFD(1, law="noisy-baseline").fit(lambda x: x, dataset(Layout("words"), TEXTS))
    assert str(refused.value) == "law 'noisy-baseline' is for numbers, the data are of kind 'words'; use 'removal'"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"samples": 1}, "samples must be a whole number of at least 2, got 1"),
        ({"law": "square"}, "law must be removal or noisy-baseline, got 'square'"),
        ({"noise": 0.0}, "noise must be above 0, got 0.0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        make("infd", 2, None, settings)
    assert str(refused.value) == said
