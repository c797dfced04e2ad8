"""Gradient methods against closed forms, captum itself, and gradients taken by hand at the word vectors."""

from __future__ import annotations

import captum.attr
import pytest
import torch
from torch import Tensor, nn

import reference
from explainers.samples import fitted, model, task
from nets.samples import GROUPED, dataset, grid, values
from unmask.explainers.integrated import IntegratedGradients
from unmask.masking.removals import MASK, PAD
from unmask.methods import make
from unmask.models import wrap
from unmask.nets import PixelNet, read
from unmask.seeds import seeded

DATA = dataset(GROUPED, values(GROUPED, 20), classes=3)
X = DATA.test.x
TARGET = torch.arange(20) % 3


def linear() -> nn.Linear:
    with seeded(3):
        return nn.Linear(5, 3)


def slope(net: nn.Linear) -> Tensor:
    """(n, columns) d log p_t / dx = W_t - sum_c p_c W_c."""
    with torch.no_grad():
        return net.weight[TARGET] - net(X).softmax(1) @ net.weight


class Decay(nn.Module):
    """p(class 0) = exp(-a x), so that log p(class 0) is linear in x."""

    a = torch.tensor([0.02, 0.01, 0.03, 0.002, 0.015])

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        p = torch.exp(-(x.abs() @ self.a))
        return torch.stack([p, 1 - p], 1)


POSITIVE = dataset(GROUPED, values(GROUPED, 20).abs() + 0.5)
FIRST = torch.zeros(20, dtype=torch.long)


def integrated(removal: str, steps: int = 32) -> tuple[Tensor, IntegratedGradients]:
    explainer = IntegratedGradients(2, steps=steps, removal=removal)
    explainer.fit(wrap(Decay(), outputs="probabilities"), POSITIVE)
    return explainer.explain(POSITIVE.test.x, target=FIRST).scores, explainer


@pytest.mark.parametrize(
    ("method", "form"),
    [
        ("gradient", lambda grad: grad.abs()),
        ("gradient-x-input", lambda grad: grad * X),
    ],
)
def test_a_linear_model_has_a_closed_form(method: str, form: object) -> None:
    net = linear()
    got = make(method, 2).fit(wrap(net, outputs="logits"), DATA).explain(X, target=TARGET)
    want = GROUPED.gather(form(slope(net)))  # type: ignore[operator]
    torch.testing.assert_close(got.scores, want)


def test_absolute_is_the_size_of_the_signed_sum() -> None:
    """The size is taken of a unit's sum, not summed over its columns."""
    net = wrap(linear(), outputs="logits")
    signed, size = (
        make(name, 2).fit(net, DATA).explain(X, target=TARGET).scores
        for name in ("gradient-x-input", "gradient-x-input-abs")
    )
    assert float(signed.min()) < 0
    assert torch.equal(size, signed.abs())
    by_column = GROUPED.gather((slope(linear()) * X).abs())
    assert not torch.allclose(size, by_column)


def test_a_missing_value_does_not_silence_its_group() -> None:
    x = X.clone()
    x[:, 0] = torch.nan

    class Filled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = linear()

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x.nan_to_num())

    net = Filled()
    with torch.no_grad():
        grad = net.net.weight[TARGET] - net(x).softmax(1) @ net.net.weight
    got = make("gradient-x-input", 2).fit(wrap(net, outputs="logits"), DATA).explain(x, target=TARGET)
    torch.testing.assert_close(got.scores, GROUPED.gather((grad * x).nan_to_num()))


@pytest.mark.parametrize("removal", ["zero", "mean"])
def test_integrated_gradients_are_exact_where_the_path_is_straight(removal: str) -> None:
    """Also of a module that returns probabilities, and from the baseline that the removal names."""
    x = POSITIVE.test.x
    base = torch.zeros(5) if removal == "zero" else x.mean(0)
    want = GROUPED.gather(-(x - base) * Decay.a)
    got, explainer = integrated(removal)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)
    p_x, p_b = Decay()(x)[:, 0], Decay()(base[None])[:, 0]
    torch.testing.assert_close(got.sum(1), p_x.log() - p_b.log(), atol=1e-5, rtol=1e-4)
    assert explainer.readings_["completeness_gap"] < 1e-5


def test_marginal_removal_averages_over_baselines() -> None:
    got, explainer = integrated("marginal")
    fills = explainer.task_.removal.fills  # type: ignore[attr-defined]
    assert len(fills) > 1
    want = torch.stack([GROUPED.gather(-(POSITIVE.test.x - fill) * Decay.a) for fill in fills]).mean(0)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("method", ["gradient", "gradient-x-input"])
def test_modules_that_return_probabilities(method: str) -> None:
    got = make(method, 2).fit(wrap(Decay(), outputs="probabilities"), POSITIVE).explain(POSITIVE.test.x, target=FIRST)
    slopes = -Decay.a.expand(20, 5)
    want = slopes.abs() if method == "gradient" else slopes * POSITIVE.test.x
    torch.testing.assert_close(got.scores, GROUPED.gather(want), atol=1e-6, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_integrated_gradients_add_up(kind: str) -> None:
    """sum IG = log p(target | x) - log p(target | nothing shown)."""
    x, net = task(kind).test.x, model(kind)
    removal = "pad" if kind in ("words", "sentences") else "zero"
    e = IntegratedGradients(2, steps=300, removal=removal).fit(net, task(kind)).explain(x)
    if kind == "words":
        nothing = [[PAD] * len(row) for row in x]
    elif kind == "sentences":
        nothing = [[[PAD] * len(sentence) for sentence in row] for row in x]
    else:
        nothing = torch.zeros_like(x)
    pick = torch.arange(len(x)), e.target
    gain = net(x).log()[pick] - net(nothing).log()[pick]
    torch.testing.assert_close(e.scores.sum(1), gain, atol=5e-3, rtol=5e-3)  # paths have kinks
    assert e.origin["completeness_gap"] == pytest.approx(float((e.scores.sum(1) - gain).abs().mean()), abs=1e-4)


@pytest.mark.parametrize("patch", [1, 4])
def test_images_agree_with_captum(patch: int) -> None:
    layout = grid(3, 8, patch)
    data = dataset(layout, values(layout, 6), classes=3)
    with seeded(1):
        net = PixelNet(read(data), 3, 4, 8).eval()
    x, target = data.test.x, torch.tensor([0, 1, 2, 0, 1, 2])

    def log_p(rows: Tensor) -> Tensor:
        return net(rows).log_softmax(1)

    def units(found: Tensor) -> Tensor:
        side = 8 // patch
        return found.sum(1).detach().view(6, side, patch, side, patch).sum((2, 4)).flatten(1)

    def got(method: str) -> Tensor:
        scores: Tensor = make(method, 2, "zero").fit(net, data).explain(x, target=target).scores
        return scores

    leaf = x.clone().requires_grad_()
    torch.testing.assert_close(got("gradient"), units(captum.attr.Saliency(log_p).attribute(leaf, target=target)))
    want = units(captum.attr.InputXGradient(log_p).attribute(leaf, target=target))
    torch.testing.assert_close(got("gradient-x-input"), want)
    want = units(captum.attr.IntegratedGradients(log_p).attribute(x, torch.zeros_like(x), target=target, n_steps=32))
    torch.testing.assert_close(got("integrated-gradients"), want, atol=1e-5, rtol=1e-4)


def _table(net: nn.Module) -> nn.Embedding:
    return next(m for m in net.modules() if isinstance(m, nn.Embedding))


@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_texts_agree_with_gradients_taken_by_hand(kind: str) -> None:
    net, x = model(kind).module, task(kind).test.x
    assert net is not None
    scores = {name: fitted(name, kind).explain(x).scores for name in ("gradient", "gradient-x-input")}
    target = fitted("gradient", kind).explain(x).target
    for i, row in enumerate(x):
        ids = net.reader.prepare([row])[0]  # type: ignore[union-attr,operator]
        vectors, grad = reference.at_vectors(net, _table(net), ids, int(target[i]))
        for name, found in (("gradient", grad.abs()), ("gradient-x-input", grad * vectors)):
            want = found.sum(-1).reshape(len(row), -1).sum(1)
            torch.testing.assert_close(scores[name][i, : len(row)], want, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "sentences"])
@pytest.mark.parametrize("removal", ["pad", "mask-token", "delete"])
def test_texts_agree_with_paths_walked_by_hand(kind: str, removal: str) -> None:
    """From the mask token's vector, or from padding; deleting would change the length, so it counts as padding."""
    net, x = model(kind).module, task(kind).test.x[:3]
    assert net is not None
    e = IntegratedGradients(2, steps=100, removal=removal).fit(model(kind), task(kind)).explain(x)
    for i, row in enumerate(x):
        token = MASK if removal == "mask-token" else PAD
        hidden = [token if isinstance(unit, str) else [token] * len(unit) for unit in row]
        ids, base = (net.reader.prepare([r])[0] for r in (row, hidden))  # type: ignore[union-attr,operator]
        want = reference.integrated_at_vectors(net, _table(net), ids, base, int(e.target[i]), 100)
        torch.testing.assert_close(
            e.scores[i, : len(row)], want.sum(-1).reshape(len(row), -1).sum(1), atol=0.015, rtol=0.03
        )
