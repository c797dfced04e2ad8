"""SEAT: its loss against the formula, its attack, and what a fit keeps."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from attention.samples import SHORT, K, batch, lessons, model, net, task
from unmask import distances
from unmask.attention.lessons import Lesson, lesson
from unmask.attention.seat import SEAT, topk_loss
from unmask.attention.steadiness import promises
from unmask.errors import InputError, NotFittedError
from unmask.loading import load
from unmask.models import wrap
from unmask.models.attacking import ascend
from unmask.models.attending import RADIUS, Shift, noise
from unmask.nets.attention import attention_net
from unmask.seeds import generator
from unmask.training import Recipe, soft_cross_entropy

ALONE = {"lam_stable": 0.0, "lam_overlap": 0.0, "dropout": 0.0}
ONCE = replace(SHORT, epochs=1)
EITHER = pytest.mark.parametrize("hooked", [False, True])


def close(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


def cross(q: Tensor, p: Tensor) -> Tensor:
    """(n,) -sum_c p_c log q_c, class by class."""
    return torch.stack([-sum(p[i, c] * q[i, c].log() for c in range(p.shape[1])) for i in range(len(p))])


def slopes(made: Lesson, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss.sum(), list(made.student.module.parameters())))


# --- the overlap term -------------------------------------------------------------------------------------------------


def slow_topk_loss(a: Tensor, b: Tensor, k: int, length: int) -> float:
    def top(row: Tensor) -> list[int]:
        return sorted(range(length), key=lambda j: (-float(row[j]), j))[:k]

    return sum(float((a[j] - b[j]).abs()) for chosen in (top(a), top(b)) for j in chosen) / (2 * k)


@pytest.mark.parametrize("k", [1, 3, 7, 20])
@pytest.mark.parametrize("ties", [False, True])
def test_the_overlap_term_is_that_of_the_paper(k: int, ties: bool) -> None:
    lengths = torch.tensor([9, 4, 1, 7])
    valid = torch.arange(9) < lengths[:, None]
    a, b = (torch.rand(4, 9, generator=generator(seed)) * valid for seed in (0, 1))
    if ties:
        a, b = (4 * a).round() / 4, (4 * b).round() / 4
    want = [slow_topk_loss(x, y, k, int(n)) for x, y, n in zip(a, b, lengths, strict=True)]
    close(topk_loss(a, b, k, valid), torch.tensor(want))
    close(topk_loss(b, a, k, valid), torch.tensor(want))
    assert torch.equal(topk_loss(a, a, k, valid), torch.zeros(4))


def test_the_overlap_term_is_learned_through_both_sides() -> None:
    a = torch.tensor([[0.5, 0.3, 0.2, 0.0]], requires_grad=True)
    b = torch.tensor([[0.1, 0.3, 0.2, 0.4]], requires_grad=True)
    left, right = torch.autograd.grad(topk_loss(a, b, 1, torch.ones(1, 4, dtype=torch.bool)).sum(), (a, b))
    assert left.tolist() == [[0.5, 0.0, 0.0, -0.5]]  # the heaviest of either side, and nothing else
    assert right.tolist() == [[-0.5, 0.0, 0.0, 0.5]]


# --- the loss ---------------------------------------------------------------------------------------------------------


@EITHER
def test_alone_the_first_term_is_cross_entropy_with_the_old_answer(hooked: bool) -> None:
    made = lessons(hooked, noise=0.3)
    rows = batch(made)
    close(SEAT(K, **ALONE).loss(made, rows), cross(made.student.module(rows.x).softmax(1), rows.p))


def test_the_floor_of_the_first_term_is_the_entropy_of_the_old_answer() -> None:
    made = lessons()
    rows = batch(made)
    floor = cross(rows.p, rows.p)
    close(SEAT(K, **ALONE).loss(made, rows), floor)  # the copy has not moved
    assert max(float(g.abs().max()) for g in slopes(made, SEAT(K, **ALONE).loss(made, rows))) < 1e-5
    apart = lessons(noise=0.3)
    assert bool((SEAT(K, **ALONE).loss(apart, rows) > floor).all())


@EITHER
def test_the_loss_is_that_of_the_paper(hooked: bool) -> None:
    made = lessons(hooked, noise=0.3)
    rows, trainer = batch(made), SEAT(K, radius=0.1, lam_stable=2.0, lam_overlap=5.0, dropout=0.0)
    got = trainer.loss(made, rows)
    w, states = made.student.attend(rows.x)
    said = made.student.answer(states, w)
    target, still = said.softmax(1).detach(), states.detach()

    def harm(delta: Tensor) -> Tensor:
        return soft_cross_entropy(made.student.answer(still, w.detach() + delta), target)

    delta = ascend(harm, rows.valid, 0.1, generator(0))
    near = [slow_topk_loss(a, b, K, n) for a, b, n in zip(rows.w, w.detach(), rows.valid.sum(1).tolist(), strict=True)]
    stable = cross(made.student.answer(states, w + delta).softmax(1), target)
    want = cross(said.softmax(1), rows.p) + 5.0 * torch.tensor(near) + 2.0 * stable
    close(got, want)
    exact = cross(said.softmax(1), rows.p) + 5.0 * topk_loss(rows.w, w, K, rows.valid) + 2.0 * stable
    for mine, other in zip(slopes(made, got), slopes(made, exact), strict=True):
        close(mine, other)


def test_the_same_model_behind_its_methods_or_behind_a_hook_has_the_same_loss() -> None:
    for dropout in (0.0, 0.5):
        losses = []
        for hooked in (False, True):
            made = lessons(hooked, noise=0.3)
            losses.append(SEAT(K, lam_words=0.5, dropout=dropout).loss(made, batch(made)))
        close(*losses)


def test_the_attack_raises_the_last_term() -> None:
    made = lessons()
    rows = batch(made)
    plain = SEAT(K, **ALONE).loss(made, rows)
    w, states = (t.detach() for t in made.student.attend(rows.x))
    target = made.student.answer(states, w).softmax(1).detach()
    attacked = (SEAT(K, lam_overlap=0.0, lam_stable=1.0, dropout=0.0).loss(made, rows) - plain).detach()
    floor = cross(target, target)  # of the last term, where nothing is moved
    random = noise(rows.valid.shape, 0.05, generator(4)) * rows.valid
    shaken = soft_cross_entropy(made.student.answer(states, w + random), target).detach()
    assert bool((attacked > floor).all())
    assert bool((attacked >= shaken - 1e-6).all())
    assert float((attacked - floor).mean()) > 1.5 * float((shaken - floor).mean())
    wider = SEAT(K, radius=0.2, lam_overlap=0.0, lam_stable=1.0, dropout=0.0).loss(made, rows) - plain
    assert bool((wider > attacked).all())


@EITHER
def test_the_term_on_word_vectors_is_the_first_two_terms_of_the_moved_row(hooked: bool) -> None:
    made = lessons(hooked, noise=0.3)
    rows = batch(made)
    settings: dict[str, Any] = {"lam_stable": 0.0, "lam_overlap": 5.0, "dropout": 0.0}
    alone, both = SEAT(K, **settings), SEAT(K, lam_words=3.0, eps=0.7, **settings)

    def near() -> Tensor:
        raw, w = made.student.look(rows.x)
        return cross(raw.softmax(1), rows.p) + 5.0 * topk_loss(rows.w, w, K, rows.valid)

    with Shift(made.embedding) as shift:
        made.student.module(rows.x)
    start = noise(shift.delta.shape, made.reach, generator(0))
    with Shift(made.embedding, start), Shift(made.embedding) as shift:
        total = near().sum()
    (g,) = torch.autograd.grad(total, shift.delta)
    by = torch.stack([0.7 * made.reach / RADIUS * row / row.norm() for row in g])
    with Shift(made.embedding, by):
        moved = near()
    assert float((moved - near()).mean().detach()) > 0.05
    close(both.loss(made, batch(made)) - alone.loss(made, rows), 3.0 * moved)


def test_under_dropout_the_old_answer_and_attention_are_wanted_of_what_is_left() -> None:
    made = lessons(noise=0.3)
    rows = batch(made)
    got = SEAT(K, lam_stable=0.0, lam_overlap=5.0, dropout=0.5).loss(made, rows)
    with Shift(made.embedding) as shift:
        made.student.module(rows.x)
    left = (torch.rand(shift.delta.shape, generator=generator(0)) >= 0.5).float()
    with Shift(made.embedding, lambda vectors: vectors * left / 0.5 - vectors):
        raw, w = made.student.look(rows.x)
    close(got, cross(raw.softmax(1), rows.p) + 5.0 * topk_loss(rows.w, w, K, rows.valid))
    assert not torch.allclose(got, SEAT(K, lam_stable=0.0, lam_overlap=5.0, dropout=0.0).loss(made, rows))


def test_the_moved_row_is_found_where_the_row_itself_is_perfect() -> None:
    """A copy that has not moved is at the least of both terms: only near the row is there a way up."""
    made = lessons()
    rows = batch(made)
    alone, both = (SEAT(K, lam_stable=0.0, lam_overlap=5.0, lam_words=lam, dropout=0.0) for lam in (0.0, 1.0))
    plain = alone.loss(made, rows)
    assert bool((both.loss(made, rows) - 2 * plain > 0).all())


def test_only_the_copy_learns_and_from_every_term() -> None:
    made = lessons(noise=0.3)
    SEAT(K).loss(made, batch(made)).sum().backward()
    assert all(p.grad is None for p in made.given.module.parameters())
    unreached = [n for n, p in made.student.module.named_parameters() if not float(p.grad.abs().sum()) > 0]
    assert unreached == []


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"dropout": 1.0}, "dropout must be from 0 to below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout must be from 0 to below 1, got -0.1"),
        ({"radius": 0.0}, "radius and eps must be above 0 and no lam below 0"),
        ({"radius": float("nan")}, "radius and eps must be above 0 and no lam below 0"),
        ({"eps": -1.0}, "radius and eps must be above 0 and no lam below 0"),
        ({"lam_stable": -0.1}, "radius and eps must be above 0 and no lam below 0"),
        ({"lam_overlap": -0.1}, "radius and eps must be above 0 and no lam below 0"),
        ({"lam_words": -0.1}, "radius and eps must be above 0 and no lam below 0"),
        ({"lam_words": float("nan")}, "radius and eps must be above 0 and no lam below 0"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        SEAT(**wrong)


# --- the fit ----------------------------------------------------------------------------------------------------------


@cache
def fitted(seed: int = 0) -> Any:
    return SEAT(K, recipe=replace(ONCE, seed=seed)).fit(model(), task())


def test_the_model_as_given_is_left_alone() -> None:
    wrapped = model()
    assert wrapped.module is not None
    before = deepcopy(wrapped.module.state_dict())
    trainer = SEAT(K, recipe=ONCE).fit(wrapped, task())
    assert all(torch.equal(before[name], value) for name, value in wrapped.module.state_dict().items())
    after = trainer.model_.module.state_dict()  # type: ignore[attr-defined]
    assert not torch.equal(before["attention.key.weight"], after["attention.key.weight"])
    assert list(trainer.readings_) == ["before", "after", "promises"]  # type: ignore[attr-defined]


def test_the_same_seed_gives_the_same_explanation() -> None:
    trainers = (fitted(), SEAT(K, recipe=ONCE).fit(model(), task()), fitted(1))
    first, again, other = (trainer.explain(task().test.x).scores for trainer in trainers)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_saved_and_loaded_with_the_old_model_it_looks_the_same(tmp_path: Path) -> None:
    trainer, x = fitted(), task().test.x
    trainer.save(tmp_path / "kept")
    again = load(tmp_path / "kept", model=model())
    assert torch.equal(again.explain(x).scores, trainer.explain(x).scores)
    assert torch.equal(again.model_(x), trainer.model_(x))
    assert again.readings_ == trainer.readings_
    with pytest.raises(NotFittedError, match="loaded without its model"):
        load(tmp_path / "kept")
    other = attention_net(net().reader, 3, "gru", hidden=4)
    with pytest.raises(InputError, match="was saved for another model; pass the one it was fitted to"):
        load(tmp_path / "kept", model=wrap(other, device="cpu"))


def test_an_explanation_is_the_attention_of_the_stable_copy() -> None:
    trainer, rows = fitted(), task().test
    found = trainer.explain(rows.x)
    copy: Any = trainer.model_
    x = copy.module.reader.prepare(rows.x)
    close(found.scores, copy.module.attend(x)[0].detach())
    assert not torch.allclose(found.scores, net().attend(x)[0])
    assert torch.equal(found.scores[~found.valid], torch.zeros(int((~found.valid).sum())))
    assert torch.equal(found.target, copy(rows.x).argmax(1))
    assert found.origin["method"] == "seat"
    with pytest.raises(NotFittedError):
        trainer.clone().explain(rows.x)


def test_on_a_planted_task_the_words_stay_while_the_answer_learns_to_stand_changes() -> None:
    shaky = net()
    with torch.no_grad():
        shaky.attention.score.weight *= 8.0  # all attention on a word or two
    recipe = Recipe(epochs=6, batch=16, rate=1e-2)
    trainer = SEAT(K, radius=0.1, lam_stable=5.0, lam_overlap=10.0, dropout=0.0, recipe=recipe)
    trainer.fit(wrap(shaky, device="cpu"), task())
    before, after, kept = trainer.readings_.values()  # type: ignore[attr-defined]
    assert after["overlap"] > 0.95
    assert macro_f1(trainer.model_.module) >= macro_f1(shaky) - 0.01  # type: ignore[attr-defined]
    assert after["tvd"] < 0.9 * before["tvd"]
    assert kept["alpha"] < 0.7 * promise(shaky, trainer)


def macro_f1(module: Any) -> float:
    """On all rows of the task: those of validation alone are too few to tell a hundredth."""
    parts = [task()[name] for name in ("train", "validation", "test")]
    said = torch.cat([module.eval()(module.reader.prepare(part.x)).argmax(1) for part in parts])
    return float(f1_score(torch.cat([part.y for part in parts]).numpy(), said.numpy(), average="macro"))


def promise(given: Any, trainer: Any) -> float:
    """How far the attack moves the answers of the model as given."""
    made = lesson(wrap(given, device="cpu"), task(), K, None)
    return promises(made, made.held, K, trainer.radius, trainer.recipe.seed)["alpha"]


def test_what_is_promised_is_promised_at_its_own_radius() -> None:
    near, far = (
        SEAT(K, radius=radius, recipe=SHORT).fit(model(), task()).readings_["promises"] for radius in (0.01, 0.2)
    )  # type: ignore[attr-defined]
    assert (near["radius"], far["radius"]) == (0.01, 0.2)
    assert far["alpha"] > near["alpha"]


def test_dropout_is_what_makes_attention_itself_steadier() -> None:
    moved = {}
    for dropout in (0.0, 0.3):
        recipe = Recipe(epochs=6, batch=16, rate=5e-3)
        trainer: Any = SEAT(K, dropout=dropout, recipe=recipe).fit(model(), task())
        moved[dropout] = trainer.readings_["after"]["jsd"] / trainer.readings_["before"]["jsd"]
    assert moved[0.3] < 0.8 * moved[0.0]


def test_without_its_own_terms_the_copy_stays_where_it_is() -> None:
    trainer = SEAT(K, **ALONE, recipe=SHORT).fit(model(), task())
    found = trainer.explain(task().test.x)
    old = net().attend(net().reader.prepare(task().test.x))[0].detach()
    assert float(distances.jsd(found.scores, old, found.valid).max()) < 1e-3
    assert trainer.readings_["promises"]["gamma"] < 0.02  # type: ignore[attr-defined]
