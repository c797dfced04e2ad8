"""A2R: its gradients are exactly those of the paper, and its variants those of the code."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from rationales.lessons import ready, slopes
from rationales.samples import fitted, rows
from unmask import distances
from unmask.errors import InputError
from unmask.rationales import choosing, draws
from unmask.rationales.a2r import A2R
from unmask.training import soft_cross_entropy

pytestmark = pytest.mark.slow


def at(name: str = "a2r", **settings):
    own, batch = ready(name, **settings)
    own._rate, own._steps, own._warm = 0.2, 0, 0
    return own, batch


def test_nothing_of_the_rationale_predictor_reaches_the_generator() -> None:
    own, batch = at()
    state = batch.rng.get_state()
    hard, soft = own._both(batch, own.net_.chooser(batch.x))
    assert all(g is None for g in slopes(soft_cross_entropy(hard, batch.y).mean(), own.net_.chooser))
    batch.rng.set_state(state)
    got = slopes(own._choosing(batch), own.net_.chooser)
    batch.rng.set_state(state)
    hard, soft = own._both(batch, own.net_.chooser(batch.x))
    want = soft_cross_entropy(soft, batch.y) + distances.js_logits(hard.detach(), soft)
    for a, b in zip(got, slopes(want.mean(), own.net_.chooser), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert_close(a, b)


def test_the_predictors_learn_from_both_answers_and_their_agreement() -> None:
    own, batch = at(lam=0.5)
    state = batch.rng.get_state()
    got = own._predicting(batch)
    unmoved = torch.autograd.grad(got, list(own.net_.chooser.parameters()), allow_unused=True, retain_graph=True)
    assert all(g is None for g in unmoved)
    batch.rng.set_state(state)
    with torch.no_grad():
        scores = own.net_.chooser(batch.x)
    hard, soft = own._both(batch, scores)
    want = soft_cross_entropy(hard, batch.y) + soft_cross_entropy(soft, batch.y)
    want = (want + 0.5 * distances.js_logits(hard, soft)).mean()
    assert_close(got, want)
    for a, b in zip(slopes(got, own.net_.teller), slopes(want, own.net_.teller), strict=True):
        assert_close(a, b)  # agreement moves both predictors


def test_the_released_form_keeps_agreement_from_the_generator() -> None:
    own, batch = at(form="released")
    state = batch.rng.get_state()
    got = own._choosing(batch)
    batch.rng.set_state(state)
    _, soft = own._both(batch, own.net_.chooser(batch.x))
    assert_close(got, soft_cross_entropy(soft, batch.y).mean())
    hard = torch.randn(4, 3)
    assert_close(own._apart(hard, soft[:4, [0, 1, 1]]), distances.two_way_kl_logits(hard, soft[:4, [0, 1, 1]]))


def test_annealing_lets_agreement_in_step_by_step() -> None:
    own, batch = at(anneal=2)
    own._warm = 10
    a, b = torch.randn(4, 2), torch.randn(4, 2)
    whole = distances.js_logits(a, b)
    assert_close(own._apart(a, b), 0 * whole)
    own._predicting(batch)
    assert_close(own._apart(a, b), 0.1 * whole)
    own._steps = 10
    assert_close(own._apart(a, b), whole)


def test_words_are_not_drawn_but_taken() -> None:
    own, batch = ready("a2r", "words", k=0.5)
    own._rate = None
    scores = own.net_.chooser(batch.x).detach()
    kept = choosing.best(scores, batch.valid, 0.5)
    hard, _ = own._both(batch, scores)
    assert_close(hard, own.net_.teller(batch.x, kept.float()))
    own.fit(rows("words"))
    assert own._rate is None
    assert ready("a2r")[0].fit(rows("sentences"))._rate == 0.2


def test_settings_are_checked() -> None:
    for wrong in ({"form": "mine"}, {"anneal": -1}):
        with pytest.raises(InputError, match="form must be"):
            A2R(**wrong)


def test_the_soft_side_is_the_attention_predictor() -> None:
    own, x = fitted("a2r", "sentences"), rows("sentences").test.x
    prepared = own.task_.reader.prepare(x)
    with torch.no_grad():
        alpha = draws.explored(own.net_.chooser(prepared), own.net_.reader.valid(prepared), 0.0)
        want = own.net_.teller.attended(prepared, alpha).softmax(1)
    assert_close(own.softly(x), want)
    assert not torch.allclose(own.predict(x), want)
