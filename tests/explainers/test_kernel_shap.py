"""Kernel SHAP against Shapley values by their definition, and against the shap package."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.samples import K, fitted, model, task
from nets.samples import GROUPED, PLAIN, TEXTS, dataset, values
from unmask.errors import InputError
from unmask.explainers.kernel_shap import KernelSHAP
from unmask.methods import make
from unmask.models import wrap
from unmask.types import Layout

WIDE = Layout("table", (12,), tuple(range(12)), tuple(f"column {j}" for j in range(12)))
POINTS = {"good": 1.2, "kind": 0.6, "bad": -1.5, "cold": -0.7, "warm": 0.4}


def curve(x: Any) -> Tensor:
    """Three classes, with interactions of neighbouring columns."""
    rows = torch.as_tensor(x, dtype=torch.float32) / 3
    weight = torch.randn(2 * rows.shape[1], 3, generator=torch.Generator().manual_seed(2))
    return (torch.cat([rows, rows * rows.roll(1, 1)], 1) @ weight / 2).softmax(1)


def placed(rows: Any) -> Tensor:
    """Words count the less the later they stand, so that deleting one moves the others up."""
    total = torch.tensor([sum(POINTS.get(w, 0.2) / (1 + i) for i, w in enumerate(row)) for row in rows])
    return torch.stack([total, -total, torch.zeros(len(rows))], 1).softmax(1)


def definition(value: Callable[[tuple[int, ...]], float], d: int) -> list[float]:
    """phi_j = sum over S without j of (v(S + j) - v(S)) / (d C(d - 1, |S|))."""
    worth = {s: value(s) for size in range(d + 1) for s in combinations(range(d), size)}
    return [
        sum((worth[tuple(sorted((*s, j)))] - v) / (d * comb(d - 1, len(s))) for s, v in worth.items() if j not in s)
        for j in range(d)
    ]


@pytest.mark.parametrize("layout", [PLAIN, GROUPED], ids=["columns", "groups"])
@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_few_units_get_their_exact_shapley_values(layout: Layout, removal: str) -> None:
    data = dataset(layout, values(layout, 6), classes=3)
    target = torch.arange(6) % 3
    explainer = make("kernel-shap", 2, removal).fit(curve, data)
    e = explainer.explain(data.test.x, target=target)
    fills = explainer.task_.removal.fills
    assert (len(fills) > 1) == (removal == "marginal")
    for i, row in enumerate(data.test.x):

        def value(s: tuple[int, ...], row: Tensor = row, i: int = i) -> float:
            shown = torch.tensor([owner in s for owner in layout.owner])
            return float(curve(torch.where(shown, row, fills))[:, target[i]].mean())

        torch.testing.assert_close(e.scores[i], torch.tensor(definition(value, layout.d)), atol=1e-5, rtol=1e-4)
    assert e.origin["exact"] == 1.0


@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_short_texts_get_their_exact_shapley_values(kind: str) -> None:
    texts: Any = TEXTS if kind == "words" else [[row[:j] for j in range(1, 1 + len(row) % 5)] for row in TEXTS]
    texts = [row for row in texts if row]
    data = dataset(Layout(kind), texts, classes=3)  # type: ignore[arg-type]

    def said(rows: Any) -> Tensor:
        return placed(rows if kind == "words" else [[w for sentence in row for w in sentence] for row in rows])

    e = KernelSHAP(1, removal="delete").fit(wrap(said, takes="ids", tokenizer=lambda rows: rows), data).explain(texts)
    for i, row in enumerate(texts):

        def value(s: tuple[int, ...], row: Any = row, i: int = i) -> float:
            return float(said([[row[j] for j in s]])[0, e.target[i]])

        want = torch.tensor(definition(value, len(row)))
        torch.testing.assert_close(e.scores[i, : len(row)], want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
@pytest.mark.parametrize("samples", [2, 10, 64])
def test_values_add_up_however_few_the_samples(kind: str, samples: int) -> None:
    """sum phi = p(target | x) - p(target | nothing shown)."""
    x, net = task(kind).test.x, model(kind)
    explainer = KernelSHAP(K, samples).fit(net, task(kind))
    e = explainer.explain(x)
    (nothing,) = explainer.task_.removal.versions(x, torch.zeros_like(e.valid))
    gain = (net(x) - net(nothing)).gather(1, e.target[:, None])[:, 0]
    torch.testing.assert_close(e.scores.sum(1), gain, atol=1e-5, rtol=1e-4)


def test_a_unit_that_is_not_used_gets_nothing_and_equals_get_the_same() -> None:
    def narrow(x: Any) -> Tensor:
        rows = torch.as_tensor(x)
        score = rows[:, 0] * rows[:, 1]
        return torch.stack([score, -score], 1).softmax(1)

    data = dataset(PLAIN, values(PLAIN, 6))
    x = torch.tensor([[0.7, 0.7, 5.0, -3.0]])
    scores = KernelSHAP(2, removal="zero").fit(narrow, data).explain(x, target=torch.tensor([0])).scores[0]
    assert float(scores[2:].abs().max()) < 1e-7
    assert float(scores[0]) == pytest.approx(float(scores[1]), abs=1e-7)
    assert float(scores.sum()) == pytest.approx(float(narrow(x)[0, 0]) - 0.5, abs=1e-6)


def test_draws_come_near_the_exact_values_as_they_grow() -> None:
    """The error falls with the root of the number of draws."""
    data = dataset(WIDE, values(WIDE, 8), classes=3)

    def found(samples: int, seed: int = 0) -> Tensor:
        e = KernelSHAP(2, samples, seed, removal="zero").fit(curve, data).explain(data.test.x)
        assert e.origin["exact"] == float(samples >= 4094)
        return e.scores

    exact = found(4094)
    few, many = (
        torch.stack([found(samples, seed) - exact for seed in range(8)]).square().mean().sqrt()
        for samples in (128, 2048)
    )
    assert float(few) < 0.25 * float(exact.square().mean().sqrt())
    assert 2.5 < float(few / many) < 6.5  # root of 16 is 4


def test_all_subsets_and_draws_differ_by_one_sample() -> None:
    data, seen = dataset(PLAIN, values(PLAIN, 1), classes=3), []

    def counted(x: Any) -> Tensor:
        seen.append(len(x))
        return curve(x)

    for samples, calls in ((14, 16), (13, 14), (1000, 16)):
        explainer = KernelSHAP(2, samples, removal="zero").fit(counted, data)
        seen.clear()
        e = explainer.explain(data.test.x, target=torch.tensor([0]))
        assert sum(seen) == calls
        assert e.origin["exact"] == float(samples >= 14)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tables_agree_with_the_shap_package() -> None:
    import shap

    for layout, samples in ((PLAIN, 100), (WIDE, 1000)):
        data = dataset(layout, values(layout, 6), classes=3)
        x, target = data.test.x, torch.arange(6) % 3
        exact, *ours = (
            KernelSHAP(2, n, seed, removal="marginal").fit(curve, data) for n, seed in ((10_000, 0), (samples, 0))
        )
        peer = shap.KernelExplainer(lambda rows: curve(rows).numpy(), exact.task_.removal.fills.numpy())
        np.random.seed(0)  # the package draws from numpy's own state
        theirs = peer.shap_values(x.numpy(), nsamples=samples, silent=True, l1_reg=False)[range(6), :, target]
        want = exact.explain(x, target=target).scores.numpy()
        got = ours[0].explain(x, target=target).scores.numpy()
        if layout is PLAIN:  # both count all subsets
            np.testing.assert_allclose(got, theirs, atol=1e-5)
            continue
        error = [float(np.sqrt(np.mean((found - want) ** 2))) for found in (got, theirs)]
        assert max(error) < 0.1 * float(np.sqrt(np.mean(want**2)))
        np.testing.assert_allclose(got, theirs, atol=5 * float(np.hypot(*error)))


def test_what_was_exact_is_no_setting() -> None:
    explainer = fitted("kernel-shap", "words")
    assert 0 < explainer.explain(task("words").test.x).origin["exact"] <= 1
    assert explainer.clone().readings_ == {}


@pytest.mark.parametrize("samples", [1, 0, 2.0, True])
def test_too_few_samples_are_refused(samples: Any) -> None:
    with pytest.raises(InputError, match="samples must be a whole number of at least 2, got"):
        KernelSHAP(2, samples)
