"""VIBI: the bound as a formula, the direction of its divergence, and what the released sampler does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.errors import InputError
from unmask.explainers import learned
from unmask.explainers.learned import Batch, drawn
from unmask.explainers.vibi import VIBI
from unmask.seeds import generator
from unmask.training import evaluate

pytestmark = pytest.mark.slow  # many small fits


def built(kind: str, explainer: VIBI, seed: int = 0) -> Batch:
    """Networks before training, in evaluation mode, their scores spread out; all training rows as one batch."""
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    with torch.no_grad():
        for p in explainer.selector_.parameters():
            p.mul_(3.0)
    explainer.selector_.eval()
    explainer.approximator_.eval()
    return Batch(*lesson.train.rows[:3], generator(seed), lesson.train.rows[3])


def step(explainer: VIBI, batch: Batch) -> Tensor:
    """(b,) the losses of one step, as training takes it: scores, a draw by them, the loss of choosing."""
    batch = replace(batch, scores=explainer.selector_(batch.x, None, batch.p if explainer.feedback else None))
    return explainer.choosing(batch, drawn(explainer, batch))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "beta", "feedback"), [(1, 0.1, False), (2, 2.0, True), (3, 0.0, False)])
def test_the_loss_is_the_formula(kind: str, k: int, beta: float, feedback: bool) -> None:
    """CE of the model's class plus beta k KL(p(z|x) || uniform over the units that exist), one value a row."""
    explainer = VIBI(k, beta=beta, feedback=feedback)
    batch = built(kind, explainer)
    scores = explainer.selector_(batch.x, None, batch.p if feedback else None)
    batch = replace(batch, scores=scores)
    v = drawn(explainer, batch)
    got = explainer.choosing(batch, v)
    assert got.shape == (len(batch.x),)
    q = explainer.approximator_(batch.x, v).log_softmax(1).detach()
    for i in range(len(got)):
        choice = scores[i].detach()[batch.valid[i]].softmax(0)
        kl = sum(float(c) * (float(c.log()) - torch.tensor(1 / len(choice)).log().item()) for c in choice)
        want = -float(q[i, batch.p[i].argmax()]) + beta * k * kl
        assert float(got[i].detach()) == pytest.approx(want, abs=1e-4)


def test_the_divergence_runs_from_the_choice_to_the_uniform_law() -> None:
    """A choice that leaves units out entirely: log(4/2) from it, infinite (here: huge) from the uniform law."""
    valid = torch.tensor([[True, True, True, True, False]])
    log_choice = torch.tensor([[0.5, 0.5, 1e-30, 1e-30, 0.0]]).log()
    torch.testing.assert_close(VIBI(1)._divergence(log_choice, valid), torch.tensor([2.0]).log())
    legacy = VIBI(1, legacy=True)._divergence(log_choice, valid)
    want = sum(0.25 * (torch.tensor(0.25 / c).log().item()) for c in (0.5, 0.5, 1e-30, 1e-30))
    assert float(legacy) == pytest.approx(want, rel=1e-4)
    flat = torch.tensor([[0.25, 0.25, 0.25, 0.25, 0.0]]).log()
    for explainer in (VIBI(1), VIBI(1, legacy=True)):
        assert float(explainer._divergence(flat, valid)) == pytest.approx(0.0, abs=1e-6)


def test_a_large_beta_makes_the_choice_uniform() -> None:
    """Only the divergence has a say: gradient steps on the loss flatten the scores."""
    spread = []
    for beta in (0.0, 1000.0):
        explainer = VIBI(2, beta=beta)
        batch = built("table", explainer)
        moves = torch.optim.Adam(explainer.selector_.parameters(), 3e-3)
        for _ in range(150):
            moves.zero_grad()
            step(explainer, batch).mean().backward()
            moves.step()
        spread.append(float(evaluate(explainer.selector_, batch.x).softmax(1).amax(1).mean()))
    assert spread[1] == pytest.approx(1 / 5, abs=0.02)
    assert spread[0] > 0.3


def test_the_divergence_is_that_of_the_scores_the_mask_was_drawn_by() -> None:
    explainer = VIBI(2, beta=1.0)
    batch = built("table", explainer)
    flat = torch.zeros(batch.valid.shape)
    v = drawn(explainer, replace(batch, scores=flat))
    told = explainer.choosing(replace(batch, scores=flat), v)
    sharp = explainer.choosing(replace(batch, scores=1000.0 * torch.eye(5)[0].expand_as(flat)), v)
    torch.testing.assert_close(sharp - told, torch.full_like(told, 2 * torch.tensor(5.0).log().item()))


def of_scores(explainer: VIBI, scores: Tensor, n: int = 6000) -> Tensor:
    valid = torch.ones(n, scores.numel(), dtype=torch.bool)
    batch = Batch(torch.empty(n, 0), torch.empty(n, 0), valid, generator(0))
    return explainer.drawing(batch, scores.expand(n, -1))


def test_the_draw_follows_the_scores_and_learns() -> None:
    scores = torch.tensor([2.0, 0.0, 1.0, -1.0], requires_grad=True)
    v = of_scores(VIBI(1), scores)
    assert v.mean(0).argsort(descending=True).tolist() == [0, 2, 1, 3]
    (grad,) = torch.autograd.grad(v[:, 0].sum(), scores)
    assert float(grad[0]) > 0


def test_the_released_draw_is_upside_down_and_detached() -> None:
    """Chances proportional to -log p: of p = (.6, .3, .1), about .11, .28 and .51 parts of their sum."""
    p = torch.tensor([0.6, 0.3, 0.1])
    scores = p.log().requires_grad_()
    v = of_scores(VIBI(1, legacy=True, tau=0.01), scores)
    assert not v.requires_grad
    want = -p.log() / -p.log().sum()
    torch.testing.assert_close(v.mean(0), want, atol=0.02, rtol=0)
    assert v.mean(0).argsort().tolist() == [0, 1, 2]


def test_in_the_released_form_only_the_divergence_moves_the_selector() -> None:
    for beta, moved in ((0.0, False), (0.5, True)):
        explainer = VIBI(2, beta=beta, legacy=True)
        batch = built("table", explainer)
        loss = step(explainer, batch).mean()
        parameters = list(explainer.selector_.parameters())
        grads = torch.autograd.grad(loss, parameters, allow_unused=True)
        assert (sum(float(g.abs().sum()) for g in grads if g is not None) > 0) == moved
        grads = torch.autograd.grad(step(explainer, batch).mean(), list(explainer.approximator_.parameters()))
        assert all(float(g.abs().sum()) > 0 for g in grads)


@pytest.mark.parametrize("kind", KINDS)
def test_the_released_form_runs_and_keeps_within_the_row(kind: str) -> None:
    e = VIBI(K, legacy=True, recipe=SHORT).fit(model(kind), task(kind)).explain(task(kind).test.x)
    assert not bool((e.kept & ~e.valid).any())
    explainer = VIBI(K, legacy=True)
    batch = built(kind, explainer)
    assert bool((drawn(explainer, batch)[~batch.valid] == 0).all())


def test_the_recipe_is_the_published_one() -> None:
    recipe = VIBI(2).recipe
    assert (recipe.optimizer, recipe.rate, recipe.batch, recipe.epochs) == ("adam-half", 1e-4, 50, 40)
    assert (recipe.fade, recipe.average) == (0.97, 0.999)
    assert (VIBI(2).beta, VIBI(2).tau) == (0.1, 0.5)


def test_what_is_scored_is_the_approximators_agreement() -> None:
    explainer = fitted("vibi", "table")
    assert max(explainer.history_.scores) == pytest.approx(explainer.readings_["readings"]["approximator"], abs=1e-4)


@pytest.mark.parametrize("wrong", [-0.1, float("nan")])
def test_a_wrong_beta_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="beta must not be negative, got"):
        VIBI(2, beta=wrong)
