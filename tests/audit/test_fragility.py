"""Small changes that keep the answer: what depends on them is found out, what does not is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from audit.cases import W, planted, small_case, table
from unmask import seeds
from unmask.audit import fragility
from unmask.audit.case import Subject
from unmask.audit.stability import REACH, reach
from unmask.errors import InputError
from unmask.models import wrap
from unmask.types import Explanation

K = 2


class Scored:
    """Keeps the K units with the highest score(x)."""

    def __init__(self, score):
        self.score, self.seen = score, []

    def fit(self, model, data):
        return self

    def clone(self):
        return self

    def explain(self, x, target=None):
        self.seen.append(x)
        scores = self.score(x)
        kept = torch.zeros(scores.shape, dtype=torch.bool).scatter(1, scores.topk(K, dim=1).indices, True)
        return Explanation(scores, kept, torch.ones_like(kept), target)


def asked(case, explainer, name="it"):
    e = explainer.explain(case.x, case.target)
    explainer.seen.clear()
    return Subject(name, e, explainer=explainer)


@pytest.fixture(scope="module")
def case():
    return small_case(table(150))


def test_the_changes_are_small_and_keep_the_answer(case, monkeypatch):
    monkeypatch.setattr(fragility, "RADIUS", 0.4)
    explainer = Scored(lambda x: (50 * x).sin())  # turns round within the radius
    found = fragility.fragility(case, asked(case, explainer))
    far, seen = fragility.RADIUS / REACH * reach(case.data), list(explainer.seen)
    assert len(seen) == fragility.TRIES
    assert all(bool(((x - case.x).abs() <= far + 1e-6).all()) for x in seen)
    assert float(found.values.mean()) > 0.5
    assert found.note == "at random"  # a callable has no gradients
    turned = torch.stack([case.model(x).argmax(1) != case.target for x in seen])
    assert bool(turned.any())  # some changes do turn an answer; they must not count
    kept = asked(case, explainer).kept
    for i in turned.all(0).nonzero()[:, 0].tolist():
        assert float(found.values[i]) == 0.0
    best = torch.zeros(len(case.target))
    for x in seen:
        gone = 1 - (kept & explainer.explain(x).kept).sum(1) / K
        best = torch.maximum(best, torch.where(case.model(x).argmax(1) == case.target, gone, 0.0))
    torch.testing.assert_close(found.values, best)


def test_what_does_not_look_cannot_be_moved(case):
    fixed = Scored(lambda x: torch.arange(6.0).expand(x.shape))
    assert float(fragility.fragility(case, asked(case, fixed)).values.max()) == 0.0


def test_scores_far_apart_move_less_than_scores_close_together(case):
    apart, close = (
        float(fragility.fragility(case, asked(case, Scored(score))).values.mean())
        for score in (lambda x: 100 * W.abs() + x, lambda x: x * W)
    )
    assert apart == 0.0
    assert 0.0 < close < 0.5


def bent(seed=0):
    with seeds.seeded(seed):
        return nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 2))


def test_gradients_lead_astray_a_saliency_that_random_changes_hardly_move(monkeypatch):
    data = planted("image")
    net = nn.Sequential(nn.Flatten(), *bent())
    case = small_case(data, removal="mean", model=wrap(net, outputs="logits"), k=K)

    def saliency(x):
        x = x.detach().requires_grad_()
        target = net(x).argmax(1)
        said = net(x).log_softmax(1).gather(1, target[:, None]).sum()
        return torch.autograd.grad(said, x)[0].abs().flatten(1)

    monkeypatch.setattr(fragility, "RADIUS", 0.4)
    monkeypatch.setattr(fragility, "TRIES", 1)
    with_slopes = fragility.fragility(case, asked(case, Scored(saliency)))
    assert with_slopes.note == "by gradients and at random"
    monkeypatch.setattr(fragility, "STEPS", 0)
    without = fragility.fragility(case, asked(case, Scored(saliency)))
    assert float(with_slopes.values.mean()) > float(without.values.mean())
    assert bool((with_slopes.values >= without.values).all())


def test_values_stay_in_the_range_of_the_training_rows():
    case = small_case(
        planted("image"), removal="mean", model=wrap(nn.Sequential(nn.Flatten(), *bent()), outputs="logits")
    )
    explainer = Scored(lambda x: x.flatten(1))
    fragility.fragility(case, asked(case, explainer))
    low, high = case.data.train.x.min(), case.data.train.x.max()
    low, high = min(low, case.x.min()), max(high, case.x.max())
    assert all(bool(((x >= low) & (x <= high)).all()) for x in explainer.seen)


def test_what_cannot_be_done_is_said(case):
    words = replace(case, data=planted("words"))
    assert fragility.fragility(words, asked(case, Scored(lambda x: x))).note == "words cannot be moved a little"

    def refuses(x):
        raise InputError("no")

    it = replace(asked(case, Scored(lambda x: x)), explainer=Scored(refuses))
    assert fragility.fragility(case, it).note == "moved rows could not be explained: no"
