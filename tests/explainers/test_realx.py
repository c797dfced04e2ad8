"""REAL-X: the loss is the formula, its gradient is exact in the mean, the predictor stays frozen, units are found."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.data import load
from unmask.data.synthetic import probabilities
from unmask.errors import InputError
from unmask.explainers import learned, realx
from unmask.explainers.learned import Lesson
from unmask.explainers.pretraining import pretrain
from unmask.explainers.realx import REALX
from unmask.masking import relax
from unmask.methods import make
from unmask.seeds import generator
from unmask.training import minimize

pytestmark = pytest.mark.slow  # many small fits

N = 6000
FEWER = replace(REALX.recipe, epochs=10, batch=64)


def built(kind: str, explainer: REALX) -> Lesson:
    """The networks before any training, in evaluation mode, and what they would learn from."""
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    explainer.selector_.eval()
    explainer.approximator_.eval()
    return lesson


def log_p(explainer: REALX, x: Tensor, p: Tensor, mask: Tensor) -> Tensor:
    """sum_c p_c log f_c(x * mask) of one row."""
    return (p * explainer.approximator_(x[None], mask[None])[0].log_softmax(0)).sum()


@pytest.mark.parametrize(("feedback", "lam"), [(False, 0.7), (True, None)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_the_formula(kind: str, feedback: bool, lam: float | None) -> None:
    """Without `lam`, 0.01 for each unit of the row."""
    explainer = REALX(K, lam=lam, tau=0.3, feedback=feedback)
    x, p, valid, index = built(kind, explainer).train.rows
    with torch.no_grad():
        got = explainer._loss(x, p, valid, index, generator(5))
        logits = explainer.selector_(x, None, p if feedback else None)
        z, s, again = relax.rebar(logits, 0.3, generator(5), valid)
        want = torch.zeros(())
        for i in range(len(x)):
            at_s, at_z, at_again = (log_p(explainer, x[i], p[i], m[i]) for m in (s, z, again))
            units = range(int(valid[i].sum()))
            pi = logits[i].sigmoid()
            log_q = sum(float((pi[j] if s[i, j] else 1 - pi[j]).add(1e-5).log()) for j in units)
            price = 0.01 if lam is None else lam / len(units)
            cost = price * sum(float(pi[j]) for j in units)
            want -= ((at_s - at_again) * log_q + at_z - at_again - cost) / len(x)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


def test_the_mean_gradient_is_that_of_the_expected_log_likelihood() -> None:
    """One row of five units, all 32 masks listed: gradient of -E_s log p_f(s) + lam mean pi."""
    explainer = REALX(K, lam=0.4, tau=0.5)
    x, p, valid, index = (t[:1] for t in built("table", explainer).train.rows)
    logits = torch.tensor([0.5, -1.0, 0.2, 1.3, -0.4], requires_grad=True)
    every = torch.tensor(list(product([0.0, 1.0], repeat=5)))
    q = (every * logits.sigmoid() + (1 - every) * (-logits).sigmoid()).prod(1)
    told = torch.stack([log_p(explainer, x[0], p[0], mask) for mask in every]).detach()
    (exact,) = torch.autograd.grad(-(q * told).sum() + 0.4 * logits.sigmoid().mean(), logits)
    many = logits.detach().expand(40_000, -1).clone().requires_grad_()
    explainer.selector_.forward = lambda *_: many
    rows = (t.expand(len(many), *t.shape[1:]) for t in (x, p, valid, index))
    loss = explainer._loss(*rows, generator(0))
    found = torch.autograd.grad(loss * len(many), many)[0]
    error = found.std(0) / len(found) ** 0.5
    assert bool(((found.mean(0) - exact).abs() < 5 * error).all())
    assert bool((error < 0.02).all())


def test_the_predictor_is_trained_first_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, before = make("real-x", K, settings={"recipe": SHORT}), {}

    def look(players: Any, *given: Any, **options: Any) -> Any:
        assert list(players) == ["selector"]
        before.update(deepcopy(explainer.approximator_.state_dict()))
        return minimize(players, *given, **options)

    monkeypatch.setattr(realx, "minimize", look)
    explainer.fit(model("image"), task("image"))
    fresh = REALX(K, recipe=SHORT)
    fresh.build(explainer.task_)
    for part, frozen in (("approximator_", True), ("selector_", False)):
        state, start = getattr(explainer, part).state_dict(), getattr(fresh, part).state_dict()
        assert not all(torch.equal(state[key], start[key]) for key in state), part
        assert not frozen or all(torch.equal(state[key], before[key]) for key in state)


@pytest.mark.parametrize("masks", ["bernoulli", "mixed"])
def test_the_predictor_learns_from_masks_that_know_nothing(masks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    laws: list[Any] = []
    monkeypatch.setattr(
        realx, "pretrain", lambda e, net, lesson, law: laws.append(law) or pretrain(e, net, lesson, law)
    )
    seen: list[Tensor] = []
    explainer = REALX(K, masks=masks, recipe=SHORT)
    build = explainer.build

    def hooked(ready: Any) -> None:
        build(ready)
        explainer.approximator_.register_forward_pre_hook(lambda _, given: seen.append(given[1].detach().clone()))

    explainer.build = hooked  # type: ignore[method-assign]
    explainer.fit(model("table"), task("table"))
    assert not torch.equal(seen[0], seen[2]), "masks must be drawn afresh at each step"
    kept = laws[0](torch.ones(N, 5, dtype=torch.bool), generator(0))
    sizes = kept.sum(1).bincount(minlength=6) / N
    choose = torch.tensor([1.0, 5, 10, 10, 5, 1]) / 32
    mixed = torch.tensor([0.0, 0.1, 0.1, 0.6, 0.1, 0.1])  # half of size K = 3, half of any size
    torch.testing.assert_close(sizes, choose if masks == "bernoulli" else mixed, atol=0.02, rtol=0)
    torch.testing.assert_close(kept.float().mean(0), kept.float().mean().expand(5), atol=0.02, rtol=0)


def test_the_readings_count_the_units_above_one_half() -> None:
    explainer = fitted("real-x", "sentences")
    part = task("sentences").validation
    scores = learned.scored(explainer, explainer.task_.reader.prepare(part.x), None)
    want = [sum(float(s) > 0 for s in row[: len(text)]) for row, text in zip(scores, part.x, strict=True)]
    assert explainer.readings_["readings"]["units"] == pytest.approx(sum(want) / len(want), abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lam": -1.0}, "lam must not be negative, got -1.0"),
        ({"tau": 0.0}, "tau must be above 0 and finite, got 0.0"),
        ({"masks": "dice"}, "masks must be bernoulli or mixed, got 'dice'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        REALX(2, **settings)
    assert str(refused.value) == said


@pytest.mark.slow
@pytest.mark.parametrize("masks", ["bernoulli", "mixed"])
def test_the_four_columns_of_orange_are_found(masks: Any) -> None:
    data = load("orange", n=3000)
    explainer = REALX(4, masks=masks, recipe=FEWER).fit(lambda x: probabilities("orange", torch.as_tensor(x)), data)
    e = explainer.explain(data.test.x)
    assert data.test.relevant is not None
    assert float((e.kept & data.test.relevant).sum() / data.test.relevant.sum()) >= 0.95
