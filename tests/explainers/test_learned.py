"""What learned selectors share: rows asked about once, seeded networks, draws, and explaining with feedback."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.errors import InputError, NotFittedError
from unmask.explainers.l2x import L2X
from unmask.explainers.learned import Batch, check, drawn, lesson, networks, reader_net, scored, selected
from unmask.explainers.vibi import VIBI
from unmask.loading import load
from unmask.masking import relax
from unmask.models import counted
from unmask.seeds import generator
from unmask.task import begin, turned
from unmask.training import Recipe, evaluate
from unmask.types import Explanation

pytestmark = pytest.mark.slow  # many small fits

METHODS = {"l2x": L2X, "vibi": VIBI}
CASES = pytest.mark.parametrize(("method", "kind"), [(m, kind) for m in METHODS for kind in KINDS])


@cache
def told(method: str, kind: str) -> Any:
    """A method that is not told the answer by itself, told it, with a few wild steps so that the answer matters."""
    recipe = Recipe(epochs=3, batch=8, rate=1e-2)
    return METHODS[method](K, feedback=True, recipe=recipe).fit(model(kind), task(kind))


def built(kind: str, explainer: Any) -> tuple[Any, Batch]:
    """The networks before training and all training rows as one batch."""
    found = lesson(explainer, model(kind), task(kind))
    explainer.build(found.task)
    for net in (explainer.selector_, explainer.approximator_):
        net.eval()
    return explainer, Batch(*found.train.rows[:3], generator(0), found.train.rows[3])


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_lesson_asks_the_model_once_about_each_row(kind: str) -> None:
    data, net = task(kind), model(kind)
    with counted() as tally:
        found = lesson(L2X(K), net, data)
    assert tally.rows == len(data.train) + len(data.validation)
    for part, split in ((found.train, data.train), (found.held, data.validation)):
        assert part.raw is split.x
        torch.testing.assert_close(part.p, net(split.x))
        assert torch.equal(part.valid, split.valid[:, : part.valid.shape[1]])
        assert int(part.valid.sum()) == int(split.valid.sum())
        x, p, valid, index = part.rows
        assert index.tolist() == list(range(len(split)))
        assert len(x) == len(p) == len(valid) == len(split)


def test_a_lesson_refuses_an_impossible_k() -> None:
    with pytest.raises(InputError, match="k must be a whole number from 1 to 5"):
        lesson(L2X(9), model("table"), task("table"))


@pytest.mark.parametrize("name", ["k-hot", "gumbel-topk", "noisy-logit-max"])
def test_good_settings_pass(name: str) -> None:
    for cure in (None, "pretraining", "weighting", "weighting-shown"):
        check(SimpleNamespace(draw=name, tau=0.1, cure=cure))
    check(SimpleNamespace(cure=None))  # one that draws in a way of its own has neither


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"draw": "dice"}, "draw must be one of k-hot, soft-topk, gumbel-topk, noisy-logit-max, got 'dice'"),
        ({"tau": 0.0}, "tau must be above 0 and finite, got 0.0"),
        ({"cure": "luck"}, "cure must be None or one of pretraining, weighting, weighting-shown, got 'luck'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        check(SimpleNamespace(**{"draw": "k-hot", "tau": 0.5, "cure": None, **wrong}))
    assert str(refused.value) == said


# --- networks ---------------------------------------------------------------------------------------------------------


def test_networks_come_from_the_seed_and_their_names() -> None:
    ready = begin(model("table"), task("table"), K, None)

    def weights(seed: int) -> list[Tensor]:
        explainer = L2X(K, recipe=Recipe(seed=seed))
        nets = (*networks(explainer, ready), reader_net(explainer, ready, "rest"))
        return [next(net.parameters()).detach() for net in nets]

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert not torch.equal(first[1], first[2])  # two readers of one shape, drawn under two names


def test_the_approximator_does_not_change_with_feedback() -> None:
    ready = begin(model("words"), task("words"), K, None)
    (_, plain), (_, fed) = (networks(L2X(K, feedback=feedback), ready) for feedback in (False, True))
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), fed.parameters(), strict=True))


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", relax.DRAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_is_that_of_the_selectors_scores(kind: str, name: Any) -> None:
    for feedback in (False, True):
        explainer, batch = built(kind, L2X(2, tau=0.3, draw=name, feedback=feedback))
        scores = explainer.selector_(batch.x, None, batch.p if feedback else None)
        want = relax.DRAWS[name](scores, 2, 0.3, generator(0), batch.valid)
        assert torch.equal(drawn(explainer, batch), want)
        assert bool((want[~batch.valid] == 0).all())


def test_scores_that_are_there_are_not_made_again() -> None:
    explainer, batch = built("table", L2X(2))
    scores = torch.randn(batch.valid.shape, generator=generator(3))
    explainer.selector_ = None
    got = drawn(explainer, Batch(batch.x, batch.p, batch.valid, generator(1), scores=scores))
    assert torch.equal(got, relax.k_hot(scores, 2, 0.5, generator(1), batch.valid))


def test_a_draw_of_its_own_comes_first() -> None:
    _, batch = built("table", L2X(2))
    seen: list[Tensor] = []
    own = SimpleNamespace(feedback=False, selector_=lambda x, kept, fed: x[:, :5], drawing=lambda b, s: seen.append(s))
    drawn(own, batch)
    assert torch.equal(seen[0], batch.x[:, :5])


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_made_in_evaluation_mode_by_the_network_as_it_is_trained(kind: str) -> None:
    """Told the valid units or told nothing about them, a selector says the same."""
    for feedback in (False, True):
        explainer, batch = built(kind, L2X(2, feedback=feedback))
        want = explainer.selector_(batch.x, None, batch.p if feedback else None).detach()
        explainer.selector_.train()
        got = scored(explainer, batch.x, batch.p)
        assert not got.requires_grad
        torch.testing.assert_close(got, want, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_selected_has_the_k_best_of_each_row(kind: str) -> None:
    explainer = told("l2x", kind)
    held = lesson(explainer, model(kind), task(kind)).held
    kept, scores = selected(explainer, held), scored(explainer, held.x, held.p)
    for row in range(len(kept)):
        units = sorted(held.valid[row].nonzero()[:, 0].tolist(), key=lambda j: -float(scores[row, j]))
        assert set(kept[row].nonzero()[:, 0].tolist()) == set(units[:K])


# --- explaining with feedback -----------------------------------------------------------------------------------------


@CASES
def test_with_feedback_the_answer_decides(method: str, kind: str) -> None:
    """The scores are the selector's for the model's answer; about another class, for the answer turned toward it."""
    explainer, x = told(method, kind), task(kind).test.x
    answer = model(kind)(x)
    about = (answer.argmax(1) + 1) % 3
    prepared = explainer.task_.reader.prepare(x)
    own, other = explainer.explain(x), explainer.explain(x, target=about)
    for e, fed in ((own, answer), (other, turned(answer, about))):
        want = explainer.selector_(prepared, None, fed).detach()
        torch.testing.assert_close(e.scores, want.masked_fill(~e.valid, 0.0), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(own.scores, other.scores, atol=1e-4)
    read = evaluate(explainer.approximator_, prepared, own.kept.float()).argmax(1)
    assert torch.equal(explainer.approximated(x, own.kept), read)


@CASES
def test_with_feedback_padding_is_never_kept_and_neighbours_do_not_matter(method: str, kind: str) -> None:
    explainer, x = told(method, kind), task(kind).test.x
    whole = explainer.explain(x)
    assert not bool((whole.kept & ~whole.valid).any())
    assert torch.equal(whole.kept.sum(1), whole.valid.sum(1).clamp(max=K))
    for i in range(len(x)):
        alone = explainer.explain(x[i : i + 1])
        d = alone.scores.shape[1]
        torch.testing.assert_close(alone.scores[0], whole.scores[i, :d], atol=1e-5, rtol=1e-5)
        assert torch.equal(alone.kept[0], whole.kept[i, :d])
        assert not bool(whole.kept[i, d:].any())


@CASES
def test_with_feedback_it_can_be_repeated_and_saved_but_needs_its_model(method: str, kind: str, tmp_path: Any) -> None:
    explainer, x = told(method, kind), task(kind).test.x
    twin = explainer.clone().fit(model(kind), task(kind))
    explainer.save(tmp_path / "kept")
    for again in (twin, load(tmp_path / "kept", model(kind))):
        same(explainer.explain(x), again.explain(x))
    with pytest.raises(NotFittedError, match=r"loaded without its model: load_explainer\(path, model=\.\.\.\)"):
        load(tmp_path / "kept").explain(x)


def same(a: Explanation, b: Explanation) -> None:
    assert torch.equal(a.scores, b.scores)
    assert torch.equal(a.kept, b.kept)
    assert torch.equal(a.target, b.target)


def test_without_feedback_the_answer_is_not_asked_for_the_scores() -> None:
    explainer = L2X(K, recipe=SHORT).fit(model("table"), task("table"))
    x = task("table").test.x
    other = (model("table")(x).argmax(1) + 1) % 3
    assert torch.equal(explainer.explain(x).scores, explainer.explain(x, target=other).scores)
    with counted() as tally:
        explainer.explain(x, target=other)
    assert tally.rows == 0


@pytest.mark.parametrize("kind", ["table", "words"])
def test_an_answer_that_is_known_is_not_asked_for_again(kind: str) -> None:
    x, explainer = task(kind).test.x, fitted("mimic", kind)
    answer = model(kind)(x)
    with counted() as tally:
        e = explainer.explain(x, answer=answer)
    assert tally.rows == 0
    assert torch.equal(e.scores, explainer.explain(x).scores)
    assert torch.equal(e.target, answer.argmax(1))
    other = explainer.explain(x, e.target, answer=(answer + 1 / 3) / 2)  # less sure of the same
    assert not torch.equal(other.scores, e.scores)
    with pytest.raises(InputError, match=r"answer must have shape"):
        explainer.explain(x, answer=answer[:1])
