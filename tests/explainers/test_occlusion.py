"""Occlusion against a double loop over rows and units."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import reference
from explainers.samples import K, model, task
from nets.samples import GROUPED, PLAIN, TEXTS, dataset, values
from unmask.explainers.occlusion import Occlusion
from unmask.masking.removals import PAD
from unmask.methods import make
from unmask.models import wrap
from unmask.types import Layout

WEIGHT = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
POINTS = {"good": 2.0, "kind": 1.0, "bad": -2.0, "cold": -1.0, "warm": 0.5, PAD: 0.3}


def additive(x: object) -> Tensor:
    rows = torch.as_tensor(x)
    return (rows @ WEIGHT[: rows.shape[1]]).softmax(1)


def placed(rows: list[list[str]]) -> Tensor:
    """Words count the less the later they stand, so that deleting one is not the same as blanking it."""
    total = torch.tensor([sum(POINTS.get(w, 0.0) / (1 + i) for i, w in enumerate(row)) for row in rows])
    return torch.stack([total, -total, torch.zeros(len(rows))], 1).softmax(1)


@pytest.mark.parametrize("layout", [PLAIN, GROUPED], ids=["columns", "groups"])
@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_columns_and_groups(layout: Layout, removal: str) -> None:
    data = dataset(layout, values(layout, 12), classes=3)
    x = data.test.x
    explainer = make("occlusion", 2, removal).fit(additive, data)
    e = explainer.explain(x)
    if removal == "marginal":
        fills = list(explainer.task_.removal.fills)
        assert len(fills) > 1
        assert all(any(torch.equal(fill, row) for row in data.train.x) for fill in fills)
    else:
        fills = [x.mean(0) if removal == "mean" else torch.zeros(x.shape[1])]

    def without(row: Tensor, j: int) -> Iterator[Tensor]:
        for fill in fills:
            changed = row.clone()
            for column in data.groups[j]:
                changed[column] = fill[column]
            yield changed

    want = reference.occlusion(additive, x, [layout.d] * 12, e.target.tolist(), without)
    torch.testing.assert_close(e.scores, torch.tensor(want), atol=1e-5, rtol=1e-4)


def test_the_closed_form_of_an_additive_model() -> None:
    """log p_t(x) - log p_t(x without j) = x_j W_jt + log sum_c exp(z_c - x_j W_jc) - log sum_c exp(z_c)."""
    data = dataset(PLAIN, values(PLAIN, 9), classes=3)
    x, weight = data.test.x, WEIGHT[:4]
    target = torch.arange(9) % 3
    e = Occlusion(2, "zero").fit(additive, data).explain(x, target=target)
    z = x @ weight
    part = x[:, :, None] * weight  # (n, columns, classes)
    want = part[torch.arange(9), :, target] + (z[:, None] - part).logsumexp(2) - z.logsumexp(1, keepdim=True)
    torch.testing.assert_close(e.scores, want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("removal", ["delete", "pad"])
def test_words(removal: str) -> None:
    data = dataset(Layout("words"), TEXTS, classes=3)
    e = Occlusion(2, removal).fit(wrap(placed, takes="ids", tokenizer=lambda rows: rows), data).explain(TEXTS)

    def without(row: list[str], j: int) -> Iterator[list[str]]:
        yield row[:j] + ([] if removal == "delete" else [PAD]) + row[j + 1 :]

    want = reference.occlusion(placed, TEXTS, [len(row) for row in TEXTS], e.target.tolist(), without)
    for i, row in enumerate(TEXTS):
        torch.testing.assert_close(e.scores[i, : len(row)], torch.tensor(want[i]), atol=1e-5, rtol=1e-4)
        assert float(e.scores[i, len(row) :].abs().sum()) == 0.0


def test_sentences_are_cut_out_whole() -> None:
    x, net = task("sentences").test.x, model("sentences")
    e = Occlusion(K).fit(net, task("sentences")).explain(x)
    want = reference.occlusion(net, x, list(map(len, x)), e.target.tolist(), lambda row, j: [row[:j] + row[j + 1 :]])
    for i, row in enumerate(x):
        torch.testing.assert_close(e.scores[i, : len(row)], torch.tensor(want[i]), atol=1e-5, rtol=1e-4)


def test_calls_in_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = Occlusion(K).fit(model("words"), task("words"))
    whole = explainer.explain(task("words").test.x).scores
    monkeypatch.setattr("unmask.explainers.occlusion.CALLS", 5)
    torch.testing.assert_close(explainer.explain(task("words").test.x).scores, whole, atol=1e-5, rtol=1e-5)


def test_each_valid_unit_costs_one_row() -> None:
    seen = []

    def counted(rows: list[list[str]]) -> Tensor:
        seen.append(len(rows))
        return placed(rows)

    data = dataset(Layout("words"), TEXTS, classes=3)
    explainer = Occlusion(2).fit(wrap(counted, takes="ids", tokenizer=lambda rows: rows), data)
    seen.clear()
    explainer.explain(TEXTS, target=torch.zeros(len(TEXTS), dtype=torch.long))
    assert sum(seen) == len(TEXTS) + sum(map(len, TEXTS))


def test_a_certain_answer_stays_finite() -> None:
    data = dataset(PLAIN, values(PLAIN, 6))
    sure = lambda x: torch.stack([torch.as_tensor(x)[:, 0] > 0, torch.as_tensor(x)[:, 0] <= 0], 1).float()  # noqa: E731
    e = Occlusion(1, "zero").fit(sure, data).explain(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert bool(e.scores.isfinite().all())
    assert e.kept.tolist() == [[True, False, False, False]]
