"""Training under perturbed attention: what is moved is a distribution, by a change of length eps, and AT is iAT."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.samples import SHORT, K, batch, lessons, model, task
from unmask.attention.lessons import Batch, Lesson
from unmask.attention.perturbed import AttentionAT
from unmask.errors import InputError
from unmask.seeds import generator
from unmask.training import soft_cross_entropy

WAYS = ("random", "gradient", "differences")
EVERY = pytest.mark.parametrize("way", WAYS)
EITHER = pytest.mark.parametrize("hooked", [False, True])


class Watched:
    """A student whose answers are watched: the weights of each are kept."""

    def __init__(self, student: Any) -> None:
        self.student, self.module, self.weights = student, student.module, []

    def attend(self, x: Tensor) -> Any:
        return self.student.attend(x)

    def answer(self, states: Any, weights: Tensor) -> Tensor:
        self.weights.append(weights)
        found: Tensor = self.student.answer(states, weights)
        return found


def started(hooked: bool = False) -> tuple[Lesson, Batch]:
    """A student that has moved away; some rows have one word alone."""
    made = lessons(hooked, noise=0.3)
    rows = batch(made)
    assert int(rows.valid.sum(1).min()) == 1
    return made, rows


def watched(trainer: AttentionAT, hooked: bool = False) -> tuple[Tensor, list[Tensor], Batch]:
    made, rows = started(hooked)
    spy = Watched(made.student)
    loss = trainer.loss(replace(made, student=spy), rows)  # type: ignore[arg-type]
    return loss, spy.weights, rows


def close(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


def change(trainer: AttentionAT, made: Lesson, rows: Batch) -> Tensor:
    w, states = made.student.attend(rows.x)
    return trainer._change(made, rows, states, w.clamp(min=1e-12).log())


def slopes(made: Lesson, rows: Batch) -> Tensor:
    """The gradient of each row's loss at its attention logits, one row and one word at a time.

    d p_s / d a_t = w_s (1[s = t] - w_t), and the gradient at the weights comes from autograd.
    """
    w, states = (t.detach() for t in made.student.attend(rows.x))
    w.requires_grad_()
    (at_weights,) = torch.autograd.grad(soft_cross_entropy(made.student.answer(states, w), rows.y).sum(), w)
    found = torch.zeros_like(w)
    for i, row in enumerate(w.detach()):
        for t in range(int(rows.valid[i].sum())):
            for s in range(int(rows.valid[i].sum())):
                found[i, t] += at_weights[i, s] * row[s] * (float(s == t) - row[t])
    return found


# --- the changes ------------------------------------------------------------------------------------------------------


@EVERY
@EITHER
def test_the_moved_attention_is_a_distribution_over_the_words(way: Any, hooked: bool) -> None:
    loss, weights, rows = watched(AttentionAT(K, way=way), hooked)
    clean, moved = weights[0], weights[-1]
    assert torch.equal(moved[~rows.valid], torch.zeros(int((~rows.valid).sum())))
    assert bool((moved >= 0).all())
    close(moved.sum(1), torch.ones(len(moved)))
    longer = rows.valid.sum(1) > 1
    assert bool(((moved - clean).abs().amax(1) > 1e-3)[longer].all())
    close(moved[~longer], clean[~longer])  # one word has all attention whatever happens
    assert loss.shape == (len(rows.y),)


@EVERY
@pytest.mark.parametrize("eps", [0.3, 2.0])
def test_the_change_has_length_eps_and_no_part_beyond_the_words(way: Any, eps: float) -> None:
    made, rows = started()
    r = change(AttentionAT(K, eps=eps, way=way), made, rows)
    several = rows.valid.sum(1) > 1
    close(r.norm(dim=1)[several], torch.full((int(several.sum()),), eps))
    assert torch.equal(r[~rows.valid], torch.zeros(int((~rows.valid).sum())))
    assert not r.requires_grad


def test_attention_at_goes_along_the_gradient() -> None:
    made, rows = started()
    g = slopes(made, rows)
    several = rows.valid.sum(1) > 1
    want = 0.5 * g / g.norm(dim=1, keepdim=True)
    got = change(AttentionAT(K, eps=0.5), made, rows)
    torch.testing.assert_close(got[several], want[several], atol=1e-4, rtol=1e-3)


def test_attention_iat_by_its_formula() -> None:
    made, rows = started()
    g = slopes(made, rows)
    a = made.student.attend(rows.x)[0].detach().log()
    got = change(AttentionAT(K, eps=0.5, way="differences"), made, rows)
    for i in range(len(rows.x)):
        n = int(rows.valid[i].sum())
        if n == 1:
            continue
        toward = torch.stack([(a[i, :n] - a[i, t]) / (a[i, :n] - a[i, t]).norm() for t in range(n)])
        scaled = torch.stack([g[i, t] * toward[t] for t in range(n)])
        alpha = 0.5 * scaled / scaled.norm()
        want = torch.stack([alpha[t] @ toward[t] for t in range(n)])
        torch.testing.assert_close(got[i, :n], want, atol=1e-4, rtol=1e-3)


@EITHER
def test_attention_at_and_iat_are_one(hooked: bool) -> None:
    made, rows = started(hooked)
    along, apart = (AttentionAT(K, eps=0.7, way=way) for way in ("gradient", "differences"))  # type: ignore[arg-type]
    several = rows.valid.sum(1) > 1
    close(change(along, made, rows)[several], change(apart, made, rows)[several])
    close(along.loss(made, rows), apart.loss(made, rows))


def test_random_changes_are_drawn_from_the_generator_of_the_batch() -> None:
    made, rows = started()
    trainer = AttentionAT(K, way="random")
    first, again, other = (change(trainer, made, replace(rows, rng=generator(seed))) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


# --- the loss ---------------------------------------------------------------------------------------------------------


@EVERY
def test_the_loss_is_the_clean_one_and_the_moved_one(way: Any) -> None:
    made, rows = started()
    trainer = AttentionAT(K, eps=0.7, way=way)
    r = change(trainer, made, replace(rows, rng=generator(0)))
    got = trainer.loss(made, replace(rows, rng=generator(0)))
    w, states = made.student.attend(rows.x)
    raised = w * r.exp()
    moved = raised / raised.sum(1, keepdim=True)
    want = soft_cross_entropy(made.student.answer(states, w), rows.y)
    want = want + soft_cross_entropy(made.student.answer(states, moved), rows.y)
    close(got, want)
    parameters = list(made.student.module.parameters())
    for mine, other in zip(
        torch.autograd.grad(got.sum(), parameters), torch.autograd.grad(want.sum(), parameters), strict=True
    ):
        close(mine, other)


def test_going_along_the_gradient_hurts_more_than_going_anywhere() -> None:
    made, rows = started()
    clean = soft_cross_entropy(made.student.module(rows.x), rows.y).detach()
    along, anywhere = (AttentionAT(K, eps=0.1, way=way).loss(made, rows).detach() for way in ("gradient", "random"))  # type: ignore[arg-type]
    several = rows.valid.sum(1) > 1
    assert bool((along >= 2 * clean - 1e-6)[several].all())
    assert bool((along >= anywhere - 1e-3)[several].all())
    rise = 0.1 * slopes(made, rows).norm(dim=1)  # to first order
    torch.testing.assert_close((along - 2 * clean)[several], rise[several], atol=1e-4, rtol=0.1)


@EVERY
def test_only_the_copy_learns(way: Any) -> None:
    wrapped = model()
    assert wrapped.module is not None
    before = deepcopy(wrapped.module.state_dict())
    trainer: Any = AttentionAT(K, way=way, recipe=replace(SHORT, epochs=1)).fit(wrapped, task())
    assert all(torch.equal(before[name], value) for name, value in wrapped.module.state_dict().items())
    assert not torch.equal(before["attention.key.weight"], trainer.model_.module.attention.key.weight)
    found = trainer.explain(task().test.x)
    assert found.origin["method"] == "attention-at"
    assert list(trainer.readings_) == ["before", "after", "promises"]


def test_a_weight_that_vanished_makes_no_trouble() -> None:
    made, rows = started()
    with torch.no_grad():
        made.student.module.attention.score.weight *= 1e4  # type: ignore[union-attr, operator]
    for way in WAYS:
        loss = AttentionAT(K, way=way).loss(made, rows)  # type: ignore[arg-type]
        loss.sum().backward()
        assert bool(loss.isfinite().all())
        assert all(bool(p.grad.isfinite().all()) for p in made.student.module.parameters())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"way": "words"}, "way must be random, gradient or differences, got 'words'"),
        ({"eps": 0.0}, "eps must be above 0, got 0.0"),
        ({"eps": float("nan")}, "eps must be above 0, got nan"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        AttentionAT(**wrong)
