"""Networks retrained without units: what is told twice survives the plain form and not the recursive one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import unmask
from audit.cases import planted, small_case, table
from unmask import api, seeds
from unmask.audit import fresh, roar
from unmask.audit.case import Subject
from unmask.models import wrap
from unmask.training import Recipe
from unmask.types import Explanation

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(fresh, "RECIPE", Recipe(epochs=8, batch=16, rate=3e-2, patience=4))


class Ranked:
    """Scores that are a function of the row, whatever the model; or, told to, of the model's slopes."""

    k = 1

    def __init__(self, score):
        self.score, self.model, self.fits = score, None, 0

    def fit(self, model, data):
        self.model, self.data = model, data
        self.fits += 1
        return self

    def clone(self):
        return self

    def explain(self, x, target=None):
        scores = self.score(self.model, x, target)
        kept = torch.zeros(scores.shape, dtype=torch.bool)
        kept[torch.arange(len(x)), scores.argmax(1)] = True
        return Explanation(scores, kept, torch.ones_like(kept), target)


def everywhere(case, explainer):
    explainer.fit(case.model, case.data)
    parts = {s: explainer.explain(p.split.x, p.full.argmax(1)) for s, p in case.pools.items()}
    return Subject("it", explainer.explain(case.x, case.target), explainer=explainer, **parts)


def twins():
    """Ten columns, the class is the sign of the first, and the second is its copy."""
    x = torch.randn(260, 10, generator=seeds.generator(0))
    x[:, 1] = x[:, 0]
    data = unmask.dataset(x, (x[:, 0] > 0).long(), kind="table")
    net = nn.Linear(10, 2)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.zero_()
        net.weight[1, 0] = 8.0
    return small_case(data, model=wrap(net, outputs="logits"))


def weights(model, x, target):
    """|weight| of the model's own first layer: it finds the copy once the first column is gone."""
    size = next(p for p in model.module.parameters() if p.ndim == 2).abs().sum(0)
    return size.expand(len(x), -1) * (x != 0)


def fixed(model, x, target):
    """The first column first, then from the last to the second: the copy goes at the very end."""
    return torch.tensor([10.0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).expand(len(x), -1).clone()


def test_each_share_is_the_approximator_without_these_units(monkeypatch):
    monkeypatch.setattr(roar, "SHARES", (0.3, 0.5))
    case = small_case(table(150))
    it = everywhere(case, Ranked(lambda m, x, t: x))
    found = roar.roar(case, it)
    assert tuple(found.curve) == roar.SHARES
    assert_close(found.values, torch.stack(list(found.curve.values())).mean(0))
    half = {
        name: replace(e, kept=_best(e.scores, 3)) for name, e in (("train", it.train), ("validation", it.validation))
    }
    by_hand = fresh.fu_a(
        case, replace(it, explanation=replace(it.explanation, kept=_best(it.explanation.scores, 3)), **half)
    )
    assert_close(found.curve[0.5], by_hand.values)


def _best(scores, k):
    kept = torch.zeros(scores.shape, dtype=torch.bool)
    return kept.scatter(1, scores.topk(k, dim=1).indices, True)


def test_a_copy_saves_the_plain_form_and_not_the_recursive_one():
    case = twins()
    it = everywhere(case, Ranked(weights))
    plain = roar.roar(case, everywhere(case, Ranked(fixed)))
    assert float(plain.curve[0.5].mean()) > 0.9  # the copy still tells
    found = roar.roar_recursive(case, it)
    assert float(found.curve[0.1].mean()) > 0.9
    assert float(found.curve[0.3].mean()) < 0.75  # the copy went next
    assert it.explainer.fits == 1 + 4


def test_a_ready_made_explanation_is_cross_fitted(monkeypatch):
    monkeypatch.setattr(roar, "SHARES", (0.5,))
    case = small_case(table(120))
    scores = case.x.abs()
    it = Subject("mine", Explanation(scores, _best(scores, 2), case.valid, case.target))
    assert bool(roar.roar(case, it).values.isfinite().all())
    assert roar.roar_recursive(case, it).note == "came ready-made: it cannot be fitted again"


@pytest.mark.parametrize(("kind", "removal"), [("words", "pad"), ("words", "delete"), ("image", "noise")])
def test_words_and_pixels_are_removed_for_good(kind, removal, monkeypatch):
    monkeypatch.setattr(fresh, "RECIPE", Recipe(epochs=2, batch=16))
    monkeypatch.setattr(roar, "SHARES", (0.3, 0.6))
    data = planted(kind, 150)
    trained = api.train_model(data, recipe=Recipe(epochs=3, batch=16, rate=1e-2))
    case = small_case(data, removal=removal, model=trained)
    explainer = api.explainer("occlusion", 1, removal=removal).fit(case.model, data)
    parts = {s: explainer.explain(p.split.x, p.full.argmax(1)) for s, p in case.pools.items()}
    it = Subject("it", explainer.explain(case.x, case.target), explainer=explainer, **parts)
    found = roar.roar_recursive(case, it)
    if removal == "delete":
        assert "must stay in their places" in found.note
    else:
        assert bool(found.values.isfinite().all())
