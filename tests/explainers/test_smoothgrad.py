"""SmoothGrad against closed forms of smoothed gradients, captum's noise tunnel, and gradients taken by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from captum.attr import NoiseTunnel, Saliency
from torch import Tensor, nn

import reference
from explainers.samples import K, model, task
from nets.samples import GROUPED, PLAIN, dataset, grid, values
from unmask.errors import InputError
from unmask.explainers.smoothgrad import SmoothGrad
from unmask.methods import make
from unmask.models import wrap
from unmask.nets import PixelNet, read
from unmask.seeds import seeded
from unmask.types import Layout

FIRST = torch.zeros(6, dtype=torch.long)


class Steep(nn.Module):
    """log p(class 0) = -0.01 sum_j exp(c_j x_j): noise of spread s makes its slope exp((c_j s)^2 / 2) times steeper."""

    def __init__(self, c: Tensor) -> None:
        super().__init__()
        self.c = nn.Parameter(c)

    def forward(self, x: Tensor) -> Tensor:
        p = torch.exp(-0.01 * torch.exp(self.c * x).flatten(1).sum(1))
        return torch.stack([p, 1 - p], 1)


class Vectors(nn.Module):
    """The same of word vectors: log p(class 0) = -0.01 sum over words and dimensions of exp(v)."""

    def __init__(self, ids: int) -> None:
        super().__init__()
        with seeded(4):
            self.table = nn.Embedding(ids, 6, padding_idx=0)

    def forward(self, ids: Tensor) -> Tensor:
        p = torch.exp(-0.01 * (torch.exp(self.table(ids)) - 1).flatten(1).sum(1))
        return torch.stack([p, 1 - p], 1)


def smoothed(c: Tensor, x: Tensor, s: Tensor, draws: int) -> tuple[Tensor, Tensor]:
    """Expected slope of Steep at x under noise of spread s, and the standard error of a mean over draws."""
    clean = -0.01 * c * torch.exp(c * x)
    grown = torch.exp((c * s) ** 2)
    return clean * grown.sqrt(), clean.abs() * (grown * (grown - 1) / draws).sqrt()


@pytest.mark.slow
@pytest.mark.parametrize("layout", [PLAIN, grid(1, 4)], ids=["table", "image"])
def test_noise_has_the_promised_spread(layout: Layout) -> None:
    """Of each column's training spread, or of each image's range."""
    data = dataset(layout, values(layout, 6) * 0.2)
    x, draws, noise = data.test.x, 4000, 0.5
    c = torch.linspace(0.5, 2.0, x[0].numel()).view(layout.shape)
    spread = x.std(0, correction=0) if layout.kind == "table" else (x.amax((1, 2, 3)) - x.amin((1, 2, 3)))[:, None]
    e = SmoothGrad(1, draws, noise).fit(wrap(Steep(c), outputs="probabilities"), data).explain(x, target=FIRST)
    want, error = smoothed(c.flatten(), x.flatten(1), noise * spread, draws)
    assert bool(((e.scores - want).abs() < 4.5 * error).all())
    assert bool(((e.scores - want / (c.flatten() * noise * spread).square().div(2).exp()).abs() > 4.5 * error).any())


@pytest.mark.slow
def test_noise_on_word_vectors_has_the_promised_spread() -> None:
    texts = [["warm", "soup"], ["tea"], ["cold", "warm", "tea"]]
    ids = {"soup": 1, "tea": 2, "warm": 3, "cold": 4}

    def numbers(rows: Any) -> Tensor:
        width = max(map(len, rows))
        return torch.tensor([[ids[w] for w in row] + [0] * (width - len(row)) for row in rows])

    net, draws, noise = Vectors(5), 2000, 0.4
    wrapped = wrap(net, takes="ids", tokenizer=numbers, outputs="probabilities")
    e = SmoothGrad(1, draws, noise).fit(wrapped, dataset(Layout("words"), texts)).explain(texts, target=FIRST[:3])
    vectors = net.table(numbers(texts)).detach()
    want, error = smoothed(torch.tensor(1.0), vectors, noise * (vectors.amax(-1) - vectors.amin(-1))[..., None], draws)
    live = e.valid
    assert bool(((e.scores - want.abs().sum(-1)).abs() < 4.5 * error.square().sum(-1).sqrt())[live].all())


@pytest.mark.slow
@pytest.mark.parametrize("patch", [1, 4])
def test_images_agree_with_captum(patch: int) -> None:
    layout = grid(3, 8, patch)
    data = dataset(layout, values(layout, 6), classes=3)
    with seeded(1):
        net = PixelNet(read(data), 3, 4, 8).eval()
    x, target, draws = data.test.x, torch.tensor([0, 1, 2, 0, 1, 2]), 400

    def theirs(seed: int) -> Tensor:
        spread = 0.15 * (x.amax((1, 2, 3)) - x.amin((1, 2, 3)))
        found = []
        with seeded(seed):
            for i in range(len(x)):
                tunnel = NoiseTunnel(Saliency(lambda rows: net(rows).log_softmax(1)))
                found.append(tunnel.attribute(
                    x[i : i + 1].clone().requires_grad_(), nt_samples=draws, stdevs=float(spread[i]),
                    target=int(target[i]), abs=False,
                ))  # fmt: skip
        return layout.gather(torch.cat(found))

    def ours(seed: int) -> Tensor:
        explainer = make("smoothgrad", 2, None, {"draws": draws, "seed": seed}).fit(net, data)
        return explainer.explain(x, target=target).scores

    mine, peer = (torch.stack([method(seed) for seed in range(6)]) for method in (ours, theirs))
    error = ((mine.var(0) + peer.var(0)) / 6).mean(1, keepdim=True).sqrt()  # of one row, pooled over its units
    assert bool(((mine.mean(0) - peer.mean(0)).abs() < 5 * error).all())
    assert float((peer.mean(0).abs() / error).median()) > 5


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_without_noise_it_is_the_gradient(kind: str) -> None:
    x, net = task(kind).test.x, model(kind)
    size = SmoothGrad(K, 2, 0.0, absolute=True).fit(net, task(kind)).explain(x)
    want = make("gradient", K).fit(net, task(kind)).explain(x)
    torch.testing.assert_close(size.scores, want.scores, atol=1e-5, rtol=1e-4)
    usual = SmoothGrad(K, 2, 0.0).fit(net, task(kind)).explain(x).scores
    if kind in ("words", "sentences"):
        assert torch.equal(usual, size.scores)  # vectors have no sign
    else:
        assert float(usual.min()) < 0
        assert bool((usual.abs() <= size.scores + 1e-5).all())


@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_texts_have_the_size_of_gradients_taken_by_hand(kind: str) -> None:
    net, x = model(kind).module, task(kind).test.x
    assert net is not None
    e = SmoothGrad(K, 1, 0.0).fit(model(kind), task(kind)).explain(x)
    table = next(m for m in net.modules() if isinstance(m, nn.Embedding))
    for i, row in enumerate(x):
        ids = net.reader.prepare([row])[0]  # type: ignore[union-attr,operator]
        grad = reference.at_vectors(net, table, ids, int(e.target[i]))[1]
        want = grad.abs().sum(-1).reshape(len(row), -1).sum(1)
        torch.testing.assert_close(e.scores[i, : len(row)], want, atol=1e-5, rtol=1e-4)


def test_absolute_takes_the_size_before_the_sum_over_a_unit() -> None:
    data = dataset(GROUPED, values(GROUPED, 6) * 0.2)
    c = torch.tensor([1.0, -1.0, -0.5, 2.0, 0.5])
    net = wrap(Steep(c), outputs="probabilities")
    single = dataset(Layout("table", (5,), tuple(range(5)), tuple("abcde")), data.test.x)
    by_column = SmoothGrad(1, 20).fit(net, single).explain(data.test.x, target=FIRST).scores
    signed, size = (
        SmoothGrad(1, 20, absolute=absolute).fit(net, data).explain(data.test.x, target=FIRST).scores
        for absolute in (False, True)
    )
    torch.testing.assert_close(signed, GROUPED.gather(by_column))
    torch.testing.assert_close(size, GROUPED.gather(by_column.abs()))


def test_seeds_differ_and_more_draws_agree_more() -> None:
    x, net = task("image").test.x, model("image")

    def apart(draws: int) -> float:
        found = [SmoothGrad(K, draws, seed=s).fit(net, task("image")).explain(x).scores for s in range(4)]
        return float(torch.stack(found).std(0).mean())

    few, many = apart(4), apart(64)
    assert many > 0
    assert 2.5 < few / many < 6.5  # root of 16 is 4


def test_hooks_are_gone_after_a_failure() -> None:
    net = model("words").module
    assert net is not None
    table = next(m for m in net.modules() if isinstance(m, nn.Embedding))
    explainer = SmoothGrad(K, 2).fit(model("words"), task("words"))
    with pytest.raises(IndexError):
        explainer._slope(torch.full((1, 3), 10**6), FIRST[:1], table, torch.Generator())
    explainer.explain(task("words").test.x)
    assert not table._forward_hooks


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draws": 0}, "draws must be a whole number of at least 1, got 0"),
        ({"draws": True}, "draws must be a whole number of at least 1, got True"),
        ({"noise": -0.1}, "noise must be 0 or above, got -0.1"),
        ({"noise": math.nan}, "noise must be 0 or above, got nan"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        make("smoothgrad", 2, None, settings)
    assert str(refused.value) == said
