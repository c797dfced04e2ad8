"""Mimic: what its approximator is taught, what it asks of the model, and what a code is worth to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from torch import Tensor

from explainers.planted import rivals
from explainers.samples import KINDS, SHORT, K, fitted, model, task
from unmask.data.own import dataset
from unmask.errors import InputError
from unmask.explainers import learned
from unmask.explainers.learned import Batch
from unmask.explainers.mimic import Mimic
from unmask.explainers.watch import Watch
from unmask.masking import subsets
from unmask.masking.relax import k_hot
from unmask.models import counted, shown, wrap
from unmask.seeds import generator
from unmask.training import Recipe, evaluate, soft_cross_entropy
from unmask.types import rows_of

pytestmark = pytest.mark.slow  # many small fits


def built(kind: str, explainer: Mimic) -> tuple[Batch, Tensor]:
    """Networks before training in evaluation mode; some training rows out of order as a batch, a relaxed mask."""
    explainer._lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(explainer._lesson.task)
    explainer.judge_ = explainer._judge(explainer._lesson)
    explainer.selector_.eval()
    explainer.approximator_.eval()
    index = torch.randperm(27, generator=generator(1))[:20]
    x, p, valid, _ = (t[index] for t in explainer._lesson.train.rows)
    scores = 2 * torch.randn(valid.shape, generator=generator(2))
    return Batch(x, p, valid, generator(3), index), k_hot(scores, explainer.k, 0.5, generator(4), valid)


def sides(batch: Batch, v: Tensor, k: int) -> list[tuple[Tensor, Tensor]]:
    """(hard, relaxed) masks of what is kept and of what is left."""
    hard = torch.zeros_like(batch.valid)
    for i, row in enumerate(batch.valid):
        units = sorted(row.nonzero()[:, 0].tolist(), key=lambda j: -float(v[i, j]))
        hard[i, units[:k]] = True
    return [(hard, v), (batch.valid & ~hard, torch.where(batch.valid, 1 - v, torch.zeros_like(v)))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("taught", ["shown", "full"])
def test_the_approximator_learns_what_the_model_says_to_what_is_shown(kind: str, taught: Any) -> None:
    """Targets: the model on removal(x, hard top-k of the draw) and on its complement; `full`: the answer to all."""
    explainer = Mimic(2, taught=taught, mu=0.0)
    batch, v = built(kind, explainer)
    ready, raw = explainer._lesson.task, rows_of(task(kind).train.x, batch.index)
    want = torch.zeros(2, len(v))  # by the hard mask, by the relaxed one
    for hard, soft in sides(batch, v, 2):
        said = batch.p if taught == "full" else shown(model(kind), ready.removal, raw, hard)
        for way, mask in enumerate((hard.float(), soft)):
            want[way] -= (said * explainer.approximator_(batch.x, mask).log_softmax(1)).sum(1)
    apart = (explainer.reading(batch, v) - want).abs()
    assert bool((apart.amin(0) < 1e-4).all()), "a row is read by one of the two masks, on both sides"
    told_apart = (want[0] - want[1]).abs() > 1e-3
    if bool(told_apart.any()):
        ways = apart.argmin(0)[told_apart]
        assert int(told_apart.sum()) < 6 or set(ways.tolist()) == {0, 1}


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_asked_about_hard_masks_of_the_draw_and_nothing_else(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer = Mimic(2, mu=0.0)
    batch, v = built(kind, explainer)
    asked: list[tuple[Any, Tensor]] = []

    def spy(net: Any, removal: Any, x: Any, kept: Tensor) -> Tensor:
        asked.append((x, kept))
        return shown(net, removal, x, kept)

    monkeypatch.setattr("unmask.explainers.mimic.shown", spy)
    with counted() as tally:
        explainer.reading(batch, v)
    assert {tuple(kept.flatten().tolist()) for _, kept in asked} == {
        tuple(hard.flatten().tolist()) for hard, _ in sides(batch, v, 2)
    }
    assert all(kept.dtype == torch.bool for _, kept in asked)
    raw = rows_of(task(kind).train.x, batch.index)
    for x, _ in asked:
        assert torch.equal(x, raw) if isinstance(x, Tensor) else x == raw
    assert tally.rows == 2 * len(v)
    with counted() as tally:
        explainer.choosing(batch, v)
        replace_target(explainer).reading(batch, v)
    assert tally.rows == 0  # choosing, and learning from full answers, ask nothing


def replace_target(explainer: Mimic) -> Mimic:
    other = replace(explainer, taught="full")
    vars(other).update({name: value for name, value in vars(explainer).items() if name not in vars(other)})
    return other


def test_random_masks_do_not_depend_on_the_selector() -> None:
    explainer = Mimic(2, taught="random", mu=0.0)
    batch, v = built("table", explainer)
    other = k_hot(torch.randn(v.shape, generator=generator(9)), 2, 0.5, generator(9), batch.valid)
    losses = [explainer.reading(replace(batch, rng=generator(5)), mask) for mask in (v, other)]
    assert torch.equal(*losses)
    own = Mimic(2, mu=0.0)
    batch, v = built("table", own)
    losses = [own.reading(replace(batch, rng=generator(5)), mask) for mask in (v, other)]
    assert not torch.equal(*losses)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("lam", "mu"), [(0.0, 0.0), (0.7, 0.0), (0.0, 2.0), (0.3, 1.0)])
def test_the_selector_listens_to_three_voices(kind: str, lam: float, mu: float) -> None:
    """CE(p, A(x v)) - lam log P(A(x (1 - v)) says anything but p) + mu CE(p, J(x v))."""
    explainer = Mimic(2, lam=lam, mu=mu, recipe=SHORT)
    batch, v = built(kind, explainer)
    (_, kept), (_, left) = sides(batch, v, 2)
    want = -(batch.p * explainer.approximator_(batch.x, kept).log_softmax(1)).sum(1)
    want -= lam * (1 - (batch.p * explainer.approximator_(batch.x, left).softmax(1)).sum(1)).log()
    assert (explainer.judge_ is None) == (mu == 0)
    if explainer.judge_ is not None:
        want -= mu * (batch.p * explainer.judge_.net(batch.x, kept).log_softmax(1)).sum(1)
    torch.testing.assert_close(explainer.choosing(batch, v), want, atol=1e-5, rtol=1e-4)


def test_the_epoch_is_chosen_by_the_three_voices() -> None:
    for lam, mu in ((0.3, 0.0), (0.5, 2.0)):
        recipe = Recipe(epochs=5, batch=8, rate=0.02)
        explainer = Mimic(2, lam=lam, mu=mu, recipe=recipe).fit(model("table"), task("table"))
        found = explainer.readings_["readings"]
        assert ("judge" in found) == (mu > 0)
        worth = found["fs-m"] - lam * found["fu-m"] + mu * found.get("judge", 0.0)
        assert max(explainer.history_.scores) == pytest.approx(worth, abs=4e-4)


@pytest.mark.parametrize("kind", ["table", "image", "words"])
@pytest.mark.parametrize("removal", ["own", "other"])
def test_with_the_model_as_approximator_its_agreement_is_that_of_the_model(kind: str, removal: str) -> None:
    """A maskable model read through masks says what it says to rows with the units removed.

    With another removal than the one its network centres on the two differ, so that the test can fail.
    """
    name = None if removal == "own" else {"table": "zero", "image": "zero", "words": "delete"}[kind]
    explainer = Mimic(K, removal=name)
    lesson = learned.lesson(explainer, model(kind), task(kind))
    explainer.build(lesson.task)
    net = model(kind).module
    assert net is not None
    agree = []
    for seed in range(12):
        explainer.build(lesson.task)
        scores = torch.randn(lesson.held.valid.shape, generator=generator(seed))
        kept = subsets.topk(scores, 1, lesson.held.valid)
        inside = evaluate(net, lesson.held.x, kept.float())
        outside = shown(lesson.task.ready(), lesson.task.removal, lesson.held.raw, kept)
        agree.append(torch.allclose(inside.softmax(1), outside, atol=1e-5))
    assert all(agree) == (removal == "own")
    if removal == "own":
        explainer.approximator_ = net
        found = Watch(explainer, lesson, lambda readings: 0.0).readings()
        assert found["approximator"] == found["fs-m"]


def test_a_black_box_is_enough() -> None:
    data = task("table")
    forest = RandomForestClassifier(20, random_state=0).fit(data.train.x.numpy(), data.train.y.numpy())
    explainer = Mimic(K, recipe=SHORT).fit(wrap(forest), data)
    assert explainer.task_.ready().module is None
    e = explainer.explain(data.test.x)
    assert e.target.tolist() == forest.predict(data.test.x.numpy()).tolist()
    assert torch.equal(e.kept.sum(1), torch.full((len(e),), K))


def test_the_model_is_called_without_gradients() -> None:
    data, modes = task("table"), []

    def ask(x: Any) -> Tensor:
        modes.append(torch.is_grad_enabled() and torch.as_tensor(x).requires_grad)
        return model("table")(x)

    Mimic(K, recipe=SHORT).fit(ask, data)
    assert modes
    assert not any(modes)


def test_the_judge_is_neutral() -> None:
    """It sees which units are kept, has its own seed and activation, and learned from masks of many sizes."""
    explainer = Mimic(2, recipe=SHORT)
    built("table", explainer)
    judge = explainer.judge_.net
    assert judge.sees_mask
    assert not explainer.approximator_.sees_mask
    assert any(isinstance(m, torch.nn.SELU) for m in judge.modules())


def test_what_only_training_needs_is_not_kept() -> None:
    explainer = fitted("mimic", "table")
    assert not {"judge_", "_lesson"} & set(vars(explainer))


def test_the_gap_between_hard_and_relaxed_masks_is_recorded() -> None:
    explainer = fitted("mimic", "words")
    held = learned.lesson(explainer, model("words"), task("words")).held
    soft = learned.drawn(explainer, Batch(held.x, held.p, held.valid, generator(0)))
    hard = subsets.topk(soft.detach(), K, held.valid).float()
    a, b = (explainer.approximator_(held.x, mask).softmax(1).detach() for mask in (soft, hard))
    want = sum(float((p - q).abs().sum()) / 2 for p, q in zip(a, b, strict=True)) / len(a)
    assert explainer.readings_["hard-soft gap"] == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lam": -1.0}, "lam and mu must not be negative, got -1.0 and 1.0"),
        ({"mu": -1.0}, "lam and mu must not be negative, got 1.0 and -1.0"),
        ({"taught": "half"}, "taught must be one of shown, full, random, context not negative; got 'half', 128"),
        ({"context": -1}, "taught must be one of shown, full, random, context not negative; got 'shown', -1"),
    ],
)
def test_settings_that_do_not_exist_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        Mimic(2, **wrong)
    assert str(refused.value) == said


@pytest.mark.parametrize("settings", [{"taught": "full"}, {"taught": "random"}, {"draw": "gumbel-topk"}])
@pytest.mark.parametrize("kind", KINDS)
def test_ablations_run_and_differ(kind: str, settings: dict[str, Any]) -> None:
    x = task(kind).test.x
    e = Mimic(K, recipe=SHORT, **settings).fit(model(kind), task(kind)).explain(x)
    assert not torch.equal(e.scores, fitted("mimic", kind).explain(x).scores)


def test_without_context_images_are_read_by_convolutions_alone() -> None:
    ready = learned.lesson(Mimic(K), model("image"), task("image")).task
    whole, plain = Mimic(K), Mimic(K, context=0)
    for explainer in (whole, plain):
        explainer.build(ready)
    assert whole.selector_.context is not None
    assert plain.selector_.context is None
    assert plain.approximator_.direct is None


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_its_reader_knows_no_more_than_the_model(seed: int) -> None:
    mimic = rivals(seed)[1].readings_["readings"]
    assert abs(mimic["approximator"] - mimic["fs-m"]) < 0.02


def test_a_code_pays_for_l2x() -> None:
    """Told the answer, L2X names it by which unit it keeps, in two of three seeds at least: its reader knows it all.

    Where it does, Mimic's selections convince the model more often.
    """
    pairs = [[each.readings_["readings"] for each in rivals(seed)] for seed in range(3)]
    codes = [(liar, mimic) for liar, mimic in pairs if liar["approximator"] - liar["fs-m"] > 0.15]
    assert len(codes) >= 2
    assert all(mimic["fs-m"] > liar["fs-m"] for liar, mimic in codes)


def test_a_dataset_of_two_rows_a_class_is_no_obstacle() -> None:
    x = torch.randn(20, 4, generator=generator(0))
    data = dataset(x, (x[:, 0] > 0).long().tolist(), kind="table")
    net = wrap(lambda rows: torch.stack([-torch.as_tensor(rows)[:, 0], torch.as_tensor(rows)[:, 0]], 1).softmax(1))
    explainer = Mimic(1, recipe=SHORT).fit(net, data)
    assert bool(soft_cross_entropy(explainer.approximator_(x), net(x)).isfinite().all())
