"""Sequential selection: what is shown depends on nothing but what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.data.own import dataset
from unmask.explainers import sequential
from unmask.explainers.sequential import Sequential
from unmask.judge import train_judge
from unmask.seeds import generator
from unmask.training import Recipe
from unmask.types import Inputs

pytestmark = pytest.mark.slow

WORDS = ["soup", "good", "bad", "late", "dear", "never seen", "tea", "<pad>"]


def rows(kind: str, n: int = 40) -> Inputs:
    """Many rows, those of a text all of the same length."""
    rng = generator(9)
    if kind == "table":
        return 5 * torch.randn(n, 7, generator=rng)
    if kind == "image":
        return 5 * torch.randn(n, 1, 6, 6, generator=rng)
    pick = torch.randint(len(WORDS), (n, 6), generator=rng).tolist()
    if kind == "words":
        return [[WORDS[i] for i in row] for row in pick]
    return [[[WORDS[i], WORDS[-1 - i]][: 1 + i % 2] for i in row] for row in pick]


def overwritten(x: Inputs, other: Inputs, kept: Tensor, kind: str) -> Inputs:
    """`x` where it is shown, `other` where it is not."""
    if isinstance(x, Tensor):
        return torch.where(task(kind).layout.spread(kept), x, other)
    triples = zip(x, other, kept.tolist(), strict=True)
    return [[a if keep else b for a, b, keep in zip(*triple, strict=True)] for triple in triples]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_shown_never_matters(kind: str) -> None:
    explainer = fitted("sequential", kind)
    x = rows(kind)
    e = explainer.explain(x)
    for shift in (1, 7, 20):
        other = torch.roll(x, shift, 0) if isinstance(x, Tensor) else x[-shift:] + x[:-shift]
        changed = explainer.explain(overwritten(x, other, e.kept, kind))
        assert torch.equal(changed.kept, e.kept)
        assert torch.equal(changed.scores, e.scores)
    if isinstance(x, Tensor):
        for extreme in (torch.nan, torch.inf, -1e30):
            changed = explainer.task_.reader.prepare(overwritten(x, torch.full_like(x, extreme), e.kept, kind))
            assert torch.equal(explainer._ask(changed, e.valid)[0], e.kept)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_does_matter(kind: str) -> None:
    """Otherwise the property above would hold of any fixed mask: an untrained policy with large weights differs."""
    explainer = Sequential(K, recipe=SHORT).fit(model(kind), task(kind))
    with torch.no_grad():
        for i, p in enumerate(explainer.policy_.parameters()):
            p.copy_(torch.randn(p.shape, generator=generator(i)))
    x = rows(kind)
    e = explainer.explain(x)
    assert len({tuple(mask) for mask in e.kept.tolist()}) > 1
    other = torch.roll(x, 3, 0) if isinstance(x, Tensor) else x[-3:] + x[:-3]
    again = explainer.explain(overwritten(x, other, e.kept, kind))
    assert torch.equal(again.kept, e.kept)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_question_is_the_same_for_all(kind: str) -> None:
    e = fitted("sequential", kind).explain(rows(kind))
    assert len(set(e.scores.argmax(1).tolist())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_scores_tell_the_order_of_the_questions(kind: str) -> None:
    """K for the first, one less for each next, 0 for what was never asked for; fewer questions give the start of it."""
    explainer = fitted("sequential", kind)
    x = task(kind).test.x
    e = explainer.explain(x)
    for row, valid in zip(e.scores.tolist(), e.valid.sum(1).tolist(), strict=True):
        assert sorted((s for s in row if s), reverse=True) == [3.0, 2.0, 1.0][: min(3, valid)]
    assert torch.equal(e.kept, e.scores > 0)
    prepared = explainer.task_.reader.prepare(x)
    explainer.k = 1
    first = explainer._ask(prepared, e.valid)[0]
    explainer.k = K
    assert torch.equal(first, e.scores == 3.0)


def branching(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Eight values of +-1, four classes: x0, and x2 where x1 > 0, else x3; x4 to x7 are noise."""
    x = torch.where(torch.rand(n, 8, generator=generator(seed)) < 0.5, 1.0, -1.0)
    side = torch.where(x[:, 1] > 0, x[:, 2], x[:, 3])
    return x, ((x[:, 0] > 0).long() * 2 + (side > 0).long())


def truth(x: Any) -> Tensor:
    rows = torch.as_tensor(x)
    side = torch.where(rows[:, 1] > 0, rows[:, 2], rows[:, 3]) > 0
    label = (rows[:, 0] > 0).long() * 2 + side.long()
    return 0.94 * torch.nn.functional.one_hot(label, 4).float() + 0.015


def test_its_judge_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spied(net: Any, rows: Any, held_out: Any, draw: Any, recipe: Recipe) -> Any:
        seen.append(recipe.seed)
        return train_judge(net, rows, held_out, draw, recipe)

    monkeypatch.setattr(sequential, "train_judge", spied)
    for seed in (1, 2):
        Sequential(K, recipe=replace(SHORT, seed=seed)).fit(model("table"), task("table"))
    assert len(set(seen)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_asks_for_what_decides(seed: int) -> None:
    """x0 always, the rest of the three questions among x1, x2 and x3, never noise.

    After x0 and x2, to ask for x1 or for x3 tells equally much: which of them it is, is left open.
    """
    x, y = branching(3000, 1)
    data = dataset(x, y.tolist(), kind="table")
    explainer = Sequential(3, recipe=Recipe(epochs=8, batch=128, rate=3e-3, seed=seed)).fit(truth, data)
    e = explainer.explain(data.test.x)
    share = e.kept.float().mean(0)
    assert float(share[0]) > 0.95
    assert float(share[4:].sum()) < 0.1
