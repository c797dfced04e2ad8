"""CXPlain: targets have a closed form on a linear model, the loss is the formula, the network learns them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import SHORT, K, fitted, model, task
from nets.samples import GROUPED, PLAIN, dataset, values
from unmask.data import load
from unmask.data.synthetic import probabilities
from unmask.errors import InputError
from unmask.explainers.cxplain import EPS, CXPlain, _divergence, shares
from unmask.methods import make
from unmask.models import counted
from unmask.seeds import generator
from unmask.task import begin
from unmask.training import Recipe, evaluate
from unmask.types import Layout

pytestmark = pytest.mark.slow  # many small fits

WEIGHT = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))


def linear(x: object) -> Tensor:
    rows = torch.as_tensor(x)
    return (rows @ WEIGHT[: rows.shape[1]]).softmax(1)


@pytest.mark.parametrize("layout", [PLAIN, GROUPED], ids=["columns", "groups"])
def test_targets_of_a_linear_model_are_exact(layout: Layout) -> None:
    """log p_y(x) - log p_y(x without i) = part_iy + logsumexp_c(z_c - part_ic) - logsumexp_c(z_c)."""
    data = dataset(layout, values(layout, 9), classes=3)
    x, y = data.test.x, torch.arange(9) % 3
    ready = begin(linear, data, 2, "zero")
    got = shares(ready, x, data.test.valid, linear(x), y)
    each = (x[:, :, None] * WEIGHT[: x.shape[1]]).double()  # (n, columns, classes)
    part = torch.stack([each[:, list(columns)].sum(1) for columns in data.groups], 1)  # of whole units
    z = each.sum(1)
    cost = part[torch.arange(9), :, y] + (z[:, None] - part).logsumexp(2) - z.logsumexp(1, keepdim=True)
    cost = cost.clamp(min=EPS)
    torch.testing.assert_close(got, (cost / cost.sum(1, keepdim=True)).float(), atol=1e-5, rtol=1e-3)
    torch.testing.assert_close(got.sum(1), torch.ones(9))


def test_what_never_costs_anything_is_shared_evenly() -> None:
    """A model that does not look: every dE is eps, whatever the length; what does not exist has no share."""
    data = task("words")
    flat = lambda rows: torch.full((len(rows), 3), 1 / 3)  # noqa: E731
    valid = data.test.valid
    got = shares(
        replace(begin(model("words"), data, K, None), model=flat), data.test.x, valid, flat(data.test.x), data.test.y
    )
    torch.testing.assert_close(got, valid / valid.sum(1, keepdim=True))


def test_the_loss_is_the_divergence() -> None:
    valid = torch.tensor([[True, True, True, False], [True, True, False, False], [True, False, False, False]])
    scores = torch.randn(3, 4, generator=generator(0))
    omega = torch.tensor([[0.2, 0.8, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    got = _divergence(omega, scores, valid)
    for i in range(3):
        units = [j for j in range(4) if valid[i, j]]
        total = sum(math.exp(float(scores[i, j])) for j in units)
        a = {j: math.exp(float(scores[i, j])) / total for j in units}
        want = sum(float(omega[i, j]) * math.log(float(omega[i, j]) / a[j]) for j in units if omega[i, j] > 0)
        assert float(got[i]) == pytest.approx(want, abs=1e-5)
    assert float(got[2]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_scores_are_shares(kind: str) -> None:
    e = fitted("cxplain", kind).explain(task(kind).test.x)
    torch.testing.assert_close(e.scores.sum(1), torch.ones(len(e)), atol=1e-5, rtol=0)
    assert bool((e.scores >= 0).all())


@pytest.mark.parametrize(("rows", "asked"), [(10, (10, 2)), (None, (27, 9))])
def test_each_row_costs_one_call_and_one_for_each_unit(rows: int | None, asked: tuple[int, int]) -> None:
    data = task("table")
    assert (len(data.train.y), len(data.validation.y)) == (27, 9)
    with counted() as tally:
        CXPlain(2, rows=rows, recipe=SHORT).fit(model("table"), data)
    assert tally.rows == sum(asked) * (1 + 5)


def test_about_the_data_reads_the_labels() -> None:
    data = task("table")
    turned = replace(data.train, y=(data.train.y + 1) % 3)
    scores = {}
    for about in ("model", "data"):
        for name, split in (("own", data.train), ("turned", turned)):
            explainer = CXPlain(2, about=about, recipe=SHORT)  # type: ignore[arg-type]
            scores[about, name] = explainer.fit(model("table"), replace(data, train=split)).explain(data.test.x).scores
    assert torch.equal(scores["model", "own"], scores["model", "turned"])
    assert not torch.equal(scores["data", "own"], scores["data", "turned"])


def test_an_ensemble_gives_means_and_says_how_far_its_members_differ() -> None:
    explainer = CXPlain(2, ensemble=3, recipe=SHORT).fit(model("words"), task("words"))
    x, valid = task("words").test.x, task("words").test.valid
    prepared = explainer.task_.reader.prepare(x)
    each = [evaluate(m, prepared).masked_fill(~valid, -torch.inf).softmax(1) for m in explainer.members_]
    assert not any(torch.equal(a, b) for a, b in pairwise(each))
    e = explainer.explain(x)
    torch.testing.assert_close(e.scores, sum(each) / 3, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(explainer.spread(x), torch.stack(each).std(0, correction=0), atol=1e-6, rtol=1e-4)
    held = task("words").validation
    want = explainer.spread(held.x)[held.valid].mean()
    assert e.origin["spread"] == pytest.approx(float(want), abs=1e-5)
    alone = fitted("cxplain", "words")
    assert float(alone.spread(x).abs().max()) == 0.0
    assert "spread" not in alone.explain(x).origin


def test_members_learn_from_samples_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.explainers import cxplain

    given: list[Tensor] = []
    real = cxplain.minimize
    monkeypatch.setattr(cxplain, "minimize", lambda p, rows, *a, **o: given.append(rows[0]) or real(p, rows, *a, **o))
    CXPlain(2, ensemble=2, recipe=SHORT).fit(model("table"), task("table"))
    CXPlain(2, recipe=SHORT).fit(model("table"), task("table"))
    first, second, single = given
    train = task("table").train.x
    assert torch.equal(single, train)
    assert not torch.equal(first, second)
    for rows in (first, second):
        assert len(rows) == len(train)
        assert len(rows.unique(dim=0)) < len(train)
        assert all(any(torch.equal(row, other) for other in train) for row in rows)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"about": "both"}, "about must be model or data, got 'both'"),
        ({"rows": 1}, "rows must be a whole number of at least 2, got 1"),
        ({"rows": 2.5}, "rows must be a whole number of at least 2, got 2.5"),
        ({"ensemble": 0}, "ensemble must be a whole number of at least 1, got 0"),
        ({"ensemble": None}, "ensemble must be a whole number of at least 1, got None"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        CXPlain(2, **settings)
    assert str(refused.value) == said


@pytest.mark.slow
def test_the_network_learns_the_targets_of_a_linear_model() -> None:
    """On new rows: most of the divergence from even shares is gone, and the costliest unit is usually the first."""
    x = 2 * torch.randn(1500, 4, generator=generator(7))
    data = dataset(PLAIN, x, classes=3)
    explainer = make("cxplain", 1, "zero", {"recipe": Recipe(epochs=60, batch=64, rate=2e-3, patience=12)})
    explainer.fit(linear, data)
    new = 2 * torch.randn(500, 4, generator=generator(8))
    valid, answer = torch.ones(500, 4, dtype=torch.bool), linear(new)
    omega = shares(explainer.task_, new, valid, answer, answer.argmax(1))
    e = explainer.explain(new)
    left = _divergence(omega, e.scores.log(), valid).mean()
    even = _divergence(omega, torch.zeros(500, 4), valid).mean()
    assert float(left / even) < 0.2
    assert float((e.scores.argmax(1) == omega.argmax(1)).float().mean()) > 0.85


@pytest.mark.slow
def test_the_two_columns_of_xor_are_found() -> None:
    data = load("xor", n=5000)
    e = CXPlain(2).fit(lambda x: probabilities("xor", torch.as_tensor(x)), data).explain(data.test.x)
    assert data.test.relevant is not None
    assert float((e.kept & data.test.relevant).sum() / data.test.relevant.sum()) >= 0.9
