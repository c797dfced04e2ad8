"""Word vectors that are moved: by how much, along what, and what is left of them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attention.samples import batch, lessons
from attention.test_words import EITHER, at, caught, close, student
from reference import at_vectors
from unmask.attention.moving import adversarial, attacked, dropped, length, moved, slope, worst
from unmask.models.attacking import STEPS
from unmask.models.attending import RADIUS, Shift, noise
from unmask.nets.vocabulary import HIDDEN
from unmask.seeds import generator
from unmask.training import soft_cross_entropy

# --- the gradient and the changes along it ----------------------------------------------------------------------------


@EITHER
def test_the_slope_is_the_gradient_at_the_vectors(hooked: bool) -> None:
    made = lessons(hooked, noise=0.2)
    rows = batch(made)
    found = slope(made, rows, rows.y)
    for i in range(len(rows.x)):
        _, want = at_vectors(student(made), made.embedding, rows.x[i], int(rows.y[i]))  # type: ignore[arg-type]
        close(found[i], -want[0])
    assert float(found[~rows.valid].abs().sum()) == 0
    assert not found.requires_grad


@EITHER
def test_moved_vectors_are_moved(hooked: bool) -> None:
    made = lessons(hooked, noise=0.2)
    rows = batch(made)
    change = torch.randn(*rows.x.shape, 12, generator=generator(0))
    close(moved(made, rows, change), at(made, rows.x, change))
    close(student(made)(rows.x), at(made, rows.x, torch.zeros(12)))  # and back where they were


@pytest.mark.parametrize("eps", [0.1, 1.0, 5.0])
def test_word_at_goes_eps_along_the_gradient(eps: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen = lessons(noise=0.2), caught(monkeypatch)
    rows = batch(made)
    loss = adversarial(made, rows, rows.y, eps)
    (change,) = seen
    g = slope(made, rows, rows.y)
    for i in range(len(rows.x)):
        assert float(change[i].norm()) == pytest.approx(eps, rel=1e-5)
        cosine = float((change[i] * g[i]).sum() / (change[i].norm() * g[i].norm()))
        assert cosine == pytest.approx(1.0, abs=1e-5)
    close(loss, soft_cross_entropy(at(made, rows.x, change), rows.y))
    assert not change.requires_grad


def test_a_small_change_costs_what_the_gradient_says() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)
    for target in (rows.y, rows.p):  # classes or answers
        plain = soft_cross_entropy(student(made)(rows.x), target)
        length = slope(made, rows, target).flatten(1).norm(dim=1)
        close(adversarial(made, rows, target, 1e-2) - plain, 1e-2 * length, atol=2e-4)
        assert bool((adversarial(made, rows, target, 0.5) > plain).all())


# --- the attack of the released code ----------------------------------------------------------------------------------


@EITHER
def test_the_released_attack_step_by_step(hooked: bool) -> None:
    made = lessons(hooked, noise=0.2)
    rows, radius = batch(made), 0.1
    vectors = student(made).embedding.table(rows.x).detach()
    by = noise(vectors.shape, radius, generator(0))

    def said(by: Tensor) -> Tensor:
        return at(made, rows.x, (vectors + by).clamp(0, 1) - vectors)

    for _ in range(STEPS):
        cut = ((vectors + by).clamp(0, 1) - vectors).requires_grad_()
        wrong = 1 - at(made, rows.x, cut).softmax(1)[torch.arange(len(rows.y)), rows.y]
        by = (by + torch.autograd.grad(wrong.sum(), cut)[0].sign() * 2 * radius / STEPS).clamp(-radius, radius)
    raw, w = attacked(made, batch(made), radius)
    close(raw, said(by), atol=1e-4)
    cut = (vectors + by).clamp(0, 1) * (rows.x > HIDDEN)[..., None]
    close(w, student(made).attention(student(made).encoder(cut, rows.valid), rows.valid), atol=1e-4)
    unmoved = said(torch.zeros_like(by)).softmax(1)[torch.arange(len(rows.y)), rows.y]
    assert bool((raw.softmax(1)[torch.arange(len(rows.y)), rows.y] < unmoved + 1e-5).all())


def test_attacked_vectors_lie_between_0_and_1_and_within_the_radius() -> None:
    made = lessons(noise=0.2)
    rows, seen = batch(made), []
    handle = student(made).embedding.register_forward_hook(lambda _module, _inputs, out: seen.append(out.detach()))
    attacked(made, rows, 0.1)
    handle.remove()
    plain = student(made).embedding(rows.x).detach()
    for vectors in seen[1:]:  # the first run is that of the vectors as they are
        assert float(vectors.min()) >= -1e-6
        assert float(vectors.max()) <= 1 + 1e-6
        assert float((vectors - plain.clamp(0, 1)).abs().max()) <= 0.1 + 1e-6
    assert float(plain.min()) < -0.5  # what is below 0 is lost, as published


# --- what is left out, and what hurts most ----------------------------------------------------------------------------


@EITHER
def test_dropped_values_are_the_same_however_often_the_model_runs(hooked: bool) -> None:
    made = lessons(hooked, noise=0.2)
    rows = batch(made)
    with dropped(made, 0.4, generator(3)):
        first, again = (made.student.look(rows.x)[0] for _ in range(2))
    assert torch.equal(first, again)
    left = (torch.rand(*rows.x.shape, 12, generator=generator(3)) >= 0.4).float()
    vectors = student(made).embedding.table(rows.x)
    close(first, at(made, rows.x, vectors * left / 0.6 - vectors))
    with dropped(made, 0.0, generator(3)):
        close(made.student.look(rows.x)[0], at(made, rows.x, torch.zeros(12)))


def test_what_else_a_model_looks_up_is_dropped_on_its_own() -> None:
    made = lessons()
    table = student(made).embedding.table
    with dropped(made, 0.5, generator(3)):
        long, short, again = (table(torch.full((2, n), 5)) for n in (9, 1, 9))
    assert torch.equal(long, again)
    assert short.shape == (2, 1, 12)
    assert len({tuple((row == 0).tolist()) for row in long[0]}) > 1  # not the same values of every word


def test_lengths_shrink_with_the_vectors() -> None:
    made = lessons()
    with torch.no_grad():
        made.given.module.embedding.table.weight.mul_(100.0)  # type: ignore[union-attr,operator]
    assert length(made, 2.0) == pytest.approx(2.0)
    small = lessons()
    with torch.no_grad():
        table = small.given.module.embedding.table.weight  # type: ignore[union-attr]
        table.mul_(0.08 / table.std())  # type: ignore[operator]
    assert length(small, 2.0) == pytest.approx(2.0 * 0.125 * 0.08 / RADIUS, rel=1e-4)


def test_the_worst_is_above_what_noise_of_the_same_length_does() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)

    def loss() -> Tensor:
        return soft_cross_entropy(made.student.look(rows.x)[0], rows.p)

    hurt = worst(made, loss, 1.0, generator(0))
    by = torch.randn(*rows.x.shape, 12, generator=generator(1)) * rows.valid[..., None]
    with Shift(made.embedding, by / by.flatten(1).norm(dim=1)[:, None, None] * length(made, 1.0)):
        assert bool((hurt > loss()).all())
