"""INVASE: the losses are the formulas, the reward's gradient is exact in the mean, and planted units are found."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.data import load
from unmask.data.synthetic import probabilities
from unmask.errors import InputError
from unmask.explainers import cures, learned
from unmask.explainers.invase import INVASE
from unmask.explainers.learned import Batch, Lesson
from unmask.explainers.weighting import Neutral
from unmask.methods import make
from unmask.seeds import generator
from unmask.training import Loss, minimize, soft_cross_entropy

pytestmark = pytest.mark.slow  # many small fits

FEWER = replace(INVASE.recipe, epochs=10, batch=64)
BASELINE = pytest.mark.parametrize("baseline", [True, False])


def built(kind: str, explainer: INVASE) -> tuple[Lesson, Batch]:
    """The networks before any training, in evaluation mode, and the training rows with the selector's scores."""
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    for name in ("selector_", *explainer.readers):
        getattr(explainer, name).eval()
    part = lesson.train
    scores = explainer.selector_(part.x, None, part.p if explainer.feedback else None)
    return lesson, Batch(part.x, part.p, part.valid, generator(3), torch.arange(len(part.x)), 0, scores)


def log_likelihood(net: Any, batch: Batch, i: int, mask: Tensor | None) -> Tensor:
    """sum_c p_c log q_c of row i, of which the units in `mask` are shown."""
    logits = net(batch.x[i : i + 1]) if mask is None else net(batch.x[i : i + 1], mask[None])
    return (batch.p[i] * logits[0].log_softmax(0)).sum()


@BASELINE
@pytest.mark.parametrize("kind", KINDS)
def test_the_losses_are_the_formulas(kind: str, baseline: bool) -> None:
    explainer = INVASE(K, lam=0.3, baseline=baseline)
    _, batch = built(kind, explainer)
    assert batch.scores is not None
    s = explainer.drawing(batch, batch.scores)
    with torch.no_grad():
        choosing, reading = explainer.choosing(batch, s), explainer.reading(batch, s)
        for i in range(len(s)):
            reward = log_likelihood(explainer.approximator_, batch, i, s[i])
            said = -reward
            if baseline:
                full = log_likelihood(explainer.baseline_, batch, i, None)
                reward, said = reward - full, said - full
            log_q, cost, units = 0.0, 0.0, int(batch.valid[i].sum())
            for j in range(units):
                pi = float(batch.scores[i, j].double().sigmoid())
                log_q += float(torch.tensor(pi if s[i, j] else 1 - pi).log())
                cost += pi / units
            torch.testing.assert_close(choosing[i], -reward * log_q + 0.3 * cost, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(reading[i], said, atol=1e-5, rtol=1e-4)


@BASELINE
def test_the_mean_gradient_is_that_of_the_expected_reward(baseline: bool) -> None:
    """Five units, all 32 masks listed; the baseline changes the spread, not the mean."""
    explainer = INVASE(K, lam=0.4, baseline=baseline)
    _, batch = built("table", explainer)
    logits = torch.tensor([0.5, -1.0, 0.2, 1.3, -0.4], requires_grad=True)
    every = torch.tensor(list(product([0.0, 1.0], repeat=5)))
    q = (every * logits.sigmoid() + (1 - every) * (-logits).sigmoid()).prod(1)
    told = torch.stack([log_likelihood(explainer.approximator_, batch, 0, mask) for mask in every]).detach()
    (exact,) = torch.autograd.grad(-(q * told).sum() + 0.4 * logits.sigmoid().mean(), logits)
    many = logits.detach().expand(40_000, -1).clone().requires_grad_()
    rows = (t[:1].expand(len(many), *t.shape[1:]) for t in (batch.x, batch.p, batch.valid))
    big = Batch(*rows, generator(0), scores=many)
    loss = explainer.choosing(big, explainer.drawing(big, many))
    found = torch.autograd.grad(loss.sum(), many)[0]
    error = found.std(0) / len(found) ** 0.5
    assert bool(((found.mean(0) - exact).abs() < 5 * error).all())
    assert bool((error < 0.02).all())


def test_draws_are_hard_have_their_chances_and_carry_no_gradient() -> None:
    explainer = INVASE(K)
    _, batch = built("words", explainer)
    scores = torch.randn(batch.valid.shape, generator=generator(0)).requires_grad_()
    drawn = torch.stack([explainer.drawing(batch, scores) for _ in range(3000)])
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    assert not drawn.requires_grad
    torch.testing.assert_close(drawn.mean(0), scores.sigmoid().detach() * batch.valid, atol=0.05, rtol=0)


def stages(explainer: INVASE, lesson: Lesson, neutral: Neutral | None = None) -> list[tuple[str, dict[str, Any]]]:
    """Whose turn it is, and the states of all networks at that moment, while training runs."""
    names = ("selector_", *explainer.readers)
    seen: list[tuple[str, dict[str, Any]]] = []

    def watched(name: str, loss: Loss) -> Loss:
        def look(*batch: Any) -> Tensor:
            seen.append((name, {n: deepcopy(getattr(explainer, n).state_dict()) for n in names}))
            return loss(*batch)

        return look

    game = cures.players(explainer, neutral, 2, False)
    watched_game = {name: (module, watched(name, loss)) for name, (module, loss) in game.items()}
    minimize(watched_game, lesson.train.rows, SHORT)
    return seen


@BASELINE
def test_a_turn_leaves_the_others_as_they_are(baseline: bool) -> None:
    explainer = INVASE(K, baseline=baseline)
    lesson, _ = built("image", explainer)
    seen = stages(explainer, lesson)
    assert [name for name, _ in seen[:4]] == ["reader", "selector"] * 2
    for (name, before), (_, after) in pairwise(seen):
        for net in before:
            same = all(torch.equal(before[net][key], after[net][key]) for key in before[net])
            assert same == ((net == "selector_") != (name == "selector")), (name, net)


def test_the_reward_is_read_without_dropout_and_the_readers_learn_with_it() -> None:
    explainer = INVASE(K)
    _, batch = built("image", explainer)
    modes = []
    for net in (explainer.approximator_, explainer.baseline_):
        net.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    assert batch.scores is not None
    s = explainer.drawing(batch, batch.scores)
    for loss in (explainer.choosing, explainer.reading):
        explainer.approximator_.train()
        explainer.baseline_.train()
        loss(batch, s)
    assert modes == [False, False, True, True]


@pytest.mark.parametrize("cure", ["pretraining", "weighting", "weighting-shown"])
@pytest.mark.parametrize("feedback", [False, True])
def test_cures_and_feedback(cure: str, feedback: bool) -> None:
    explainer = INVASE(K, cure=cure, feedback=feedback, recipe=SHORT).fit(model("words"), task("words"))
    e = explainer.explain(task("words").test.x)
    assert e.origin["cure"] == cure
    assert ("weights in training" in explainer.readings_) == (cure != "pretraining")
    other = (e.target + 1) % 3
    moved = not torch.equal(explainer.explain(task("words").test.x, target=other).scores, e.scores)
    assert moved == feedback


def test_pretrained_readers_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, before = INVASE(K, cure="pretraining", recipe=SHORT), {}

    def look(*given: Any, **options: Any) -> Any:
        before.update({name: deepcopy(getattr(explainer, name).state_dict()) for name in explainer.readers})
        return minimize(*given, **options)

    monkeypatch.setattr(cures, "minimize", look)
    explainer.fit(model("table"), task("table"))
    fresh = INVASE(K, recipe=SHORT)
    fresh.build(explainer.task_)
    for name in ("approximator_", "baseline_"):
        for key, value in getattr(explainer, name).state_dict().items():
            assert torch.equal(value, before[name][key])
        moved = zip(getattr(fresh, name).parameters(), getattr(explainer, name).parameters(), strict=True)
        assert not all(torch.equal(a, b) for a, b in moved)


def test_a_random_mask_never_teaches_the_selector(monkeypatch: pytest.MonkeyPatch) -> None:
    """With weighting some rows get random masks; the reward of one is no reward of what the selector chose."""
    explainer = INVASE(K, cure="weighting", recipe=SHORT)
    lesson, _ = built("table", explainer)
    neutral, stirred = Neutral.start(explainer, lesson), []
    monkeypatch.setattr(Neutral, "stirred", lambda self, batch, v: stirred.append(1) or v)
    game = cures.players(explainer, neutral, 2, False)
    part = lesson.train
    game["selector"][1](*part.rows, generator(0))
    assert not stirred
    game["reader"][1](*part.rows, generator(0))
    assert stirred


def test_the_readings_count_the_units_above_one_half() -> None:
    explainer = fitted("invase", "words")
    part = task("words").validation
    answers = learned.scored(explainer, explainer.task_.reader.prepare(part.x), None)
    want = [sum(float(s) > 0 for s in row[: len(text)]) for row, text in zip(answers, part.x, strict=True)]
    assert explainer.readings_["readings"]["units"] == pytest.approx(sum(want) / len(want), abs=1e-4)
    assert explainer.explain(part.x).origin["readings"]["units"] == explainer.readings_["readings"]["units"]


def test_the_baseline_learns_from_whole_rows() -> None:
    explainer = make("invase", K, settings={"recipe": SHORT}).fit(model("table"), task("table"))
    x = torch.as_tensor(task("table").train.x)
    fresh = INVASE(K, recipe=SHORT)
    fresh.build(explainer.task_)
    p = model("table")(x)
    with torch.no_grad():
        before, after = (float(soft_cross_entropy(e.baseline_(x), p).mean()) for e in (fresh, explainer))
    assert after < before


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lam": -0.1}, "lam must not be negative, got -0.1"),
        ({"lam": float("nan")}, "lam must not be negative, got nan"),
        ({"activation": "tanh"}, "activation must be one of relu, selu, got 'tanh'"),
        ({"cure": "rest"}, "cure must be None or one of pretraining, weighting, weighting-shown, got 'rest'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        INVASE(2, **settings)
    assert str(refused.value) == said


@pytest.mark.slow
@pytest.mark.parametrize("baseline", [True, False])
def test_the_four_columns_of_orange_are_found(baseline: bool) -> None:
    data = load("orange", n=3000)
    explainer = INVASE(4, baseline=baseline, recipe=FEWER).fit(
        lambda x: probabilities("orange", torch.as_tensor(x)), data
    )
    e = explainer.explain(data.test.x)
    assert data.test.relevant is not None
    assert float((e.kept & data.test.relevant).sum() / data.test.relevant.sum()) >= 0.95
