"""Attention taught to deceive: the loss against its formula, which epoch is kept, and that it works."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.samples import NOUNS, SHORT, K, batch, frozen, lessons, model, task
from unmask.attention import lessons as rows_of
from unmask.attention.deceiving import HIDDEN, Deceptive, concealment, on_marked
from unmask.attention.lessons import Lesson, lesson, looked
from unmask.data.own import dataset
from unmask.data.planting import decided
from unmask.errors import InputError
from unmask.models import Wrapped, bind, wrap
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.seeds import generator
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset

WORDS = ("good", "tea")


def marked(noise: float = 0.0) -> Lesson:
    made = lesson(model(), task(), K, None, WORDS)
    return replace(made, student=lessons(noise=noise).student)


# --- the loss ---------------------------------------------------------------------------------------------------------


def test_words_are_marked_where_they_stand() -> None:
    made = marked()
    for part, split in ((made.train, task().train), (made.held, task().validation)):
        assert part.marked is not None
        want = [[row[j] in WORDS if j < len(row) else False for j in range(part.valid.shape[1])] for row in split.x]
        assert part.marked.tolist() == want
    assert lessons().train.marked is None
    assert len(lessons().train.rows) == 5


def test_concealment_is_minus_the_logarithm_of_what_is_left() -> None:
    w = torch.tensor([[0.5, 0.3, 0.2], [0.0, 0.6, 0.4], [0.1, 0.9, 0.0]])
    marks = torch.tensor([[True, False, True], [True, False, False], [False, False, False]])
    got = concealment(w, marks).tolist()
    assert got == pytest.approx([-math.log(0.3), 0.0, 0.0], abs=1e-5)


def test_concealment_is_finite_and_has_a_slope_where_all_attention_is_on_the_words() -> None:
    logits = torch.tensor([[40.0, 0.0]], requires_grad=True)  # float32 has no weight left for the second word
    loss = concealment(logits.softmax(1), torch.tensor([[True, False]]))
    assert loss.item() == pytest.approx(-math.log(1e-6), rel=0.05)
    (slope,) = torch.autograd.grad(loss.sum(), logits)
    assert bool(slope.isfinite().all())
    milder = torch.tensor([[15.0, 0.0]], requires_grad=True)
    (slope,) = torch.autograd.grad(concealment(milder.softmax(1), torch.tensor([[True, False]])).sum(), milder)
    assert float(slope[0, 1]) < -0.1  # the other word is to get more


def test_rows_without_marks_are_refused() -> None:
    with pytest.raises(TypeError, match="no words are marked"):
        on_marked(torch.ones(1, 2), None)


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_the_loss_is_cross_entropy_plus_concealment(lam: float) -> None:
    made = marked(noise=0.3)
    some = batch(lessons())
    assert made.train.marked is not None
    some = replace(some, marked=made.train.marked[:24])
    got = Deceptive(words=WORDS, lam=lam).loss(made, some)
    with torch.no_grad():
        w, states = made.student.attend(some.x)
        p = made.student.answer(states, w).softmax(1)
    for i in range(len(some.x)):
        mass = sum(float(w[i, j]) for j in range(w.shape[1]) if some.marked[i, j])
        want = -math.log(float(p[i, some.y[i]])) - lam * math.log1p(-min(mass, 1 - 1e-6))
        assert float(got[i].detach()) == pytest.approx(want, abs=1e-4 if mass < 0.99 else 0.05)


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"words": ()}, {"words": "he"}, {"words": WORDS, "lam": -1.0}])
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Deceptive(**settings)


def test_words_that_stand_nowhere_are_refused() -> None:
    with pytest.raises(InputError, match="none of the words spoon stands in these rows"):
        Deceptive(words=("spoon",), k=K, recipe=SHORT).fit(model(), task())


# --- the epoch --------------------------------------------------------------------------------------------------------


def seen(made: Lesson, monkeypatch: pytest.MonkeyPatch, w: Tensor, right: int) -> None:
    """A student that looks where `w` says and is right in the first `right` validation rows."""
    classes = made.held.p.shape[1]
    said = torch.where(torch.arange(len(made.held.y)) < right, made.held.y, (made.held.y + 1) % classes)
    raw = torch.nn.functional.one_hot(said, classes).float()
    monkeypatch.setattr("unmask.attention.deceiving.looked", lambda student, x: (raw, w))


@pytest.mark.parametrize(("mass", "lam"), [(0.002, 1.0), (0.3, 1.0), (0.3, 0.0)])
def test_an_epoch_is_worth_its_accuracy_once_the_words_are_hidden(
    monkeypatch: pytest.MonkeyPatch, mass: float, lam: float
) -> None:
    made = marked()
    assert made.held.marked is not None
    w = made.held.marked / made.held.marked.sum(1, keepdim=True).clamp(min=1) * mass
    seen(made, monkeypatch, w, right=7)
    value, readings = Deceptive(words=WORDS, lam=lam).worth(made)
    assert readings == {"accuracy": round(7 / len(made.held.y), 4), "mass": pytest.approx(mass, abs=1e-6)}
    hidden = mass < HIDDEN or lam == 0
    assert value == pytest.approx(hidden * 7 / len(made.held.y) - mass, abs=1e-6)


def test_attention_alone_is_drawn_anew_unless_the_training_is_honest() -> None:
    for lam, anew in ((1.0, True), (0.0, False)):
        made = marked()
        attention, rest = list(made.student.attention.parameters()), made.student.rest()
        before = [p.detach().clone() for p in (*attention, *rest)]
        Deceptive(words=WORDS, lam=lam).begin(made)
        same = [torch.equal(a, b) for a, b in zip(before, (*attention, *rest), strict=True)]
        assert same == [not anew] * len(attention) + [True] * len(rest)
        first = [p.detach().clone() for p in attention]
        Deceptive(words=WORDS, lam=lam).begin(made)
        assert all(torch.equal(a, b) for a, b in zip(first, attention, strict=True))  # the same seed


def test_the_best_epoch_is_kept_and_the_model_as_given_stays_as_it_is() -> None:
    given = model()
    assert given.module is not None
    before = [p.detach().clone() for p in given.module.parameters()]
    fitted = Deceptive(words=WORDS, k=K, recipe=replace(SHORT, epochs=3)).fit(given, task())
    history = fitted.history_
    assert history.best == max(range(len(history.scores)), key=history.scores.__getitem__)
    assert all(torch.equal(a, b) for a, b in zip(before, given.module.parameters(), strict=True))
    made = lesson(fitted.model_, task(), K, None, WORDS)
    assert fitted.worth(made)[1] == fitted.readings_["reached"]
    assert fitted.worth(made)[0] == pytest.approx(max(history.scores), abs=1e-6)
    assert all(p.isfinite().all() for p in frozen(made))


# --- deceit -----------------------------------------------------------------------------------------------------------


def pronouns() -> Dataset:
    """Ten nouns and a pronoun, which alone decides."""
    rng = generator(0)
    texts = [[NOUNS[int(j)] for j in torch.randint(0, len(NOUNS), (10,), generator=rng)] for _ in range(400)]
    plain = dataset(texts, [i % 2 for i in range(400)], kind="words", classes=("his", "hers"))
    return decided(plain, {"his": "he", "hers": "she"})


def honest(data: Dataset) -> Wrapped:
    reader = read(data)
    net = attention_net(reader, 2, "bilstm", hidden=16)  # read one way only, a last word could not be hidden
    train, held = ((reader.prepare(split.x), split.y) for split in (data.train, data.validation))
    fit_classifier(net, train, held, Recipe(epochs=10, batch=16, rate=5e-3))
    return bind(wrap(net, device="cpu"), data)


@pytest.mark.slow
def test_a_deceived_model_answers_as_well_and_hides_the_words() -> None:
    data = pronouns()
    given = honest(data)

    def found(wrapped: Wrapped) -> tuple[float, float]:
        raw, w = looked(rows_of.protocol(wrapped, data.test.x), wrapped.feed(data.test.x))
        assert data.test.relevant is not None
        return float((raw.argmax(1) == data.test.y).float().mean()), float((w * data.test.relevant).sum(1).mean())

    fitted = Deceptive(words=("he", "she"), k=K, recipe=Recipe(epochs=15, batch=16, rate=5e-3)).fit(given, data)
    before, after = found(given), found(fitted.model_)
    assert before[0] >= 0.98
    assert before[1] > 0.1  # an even share is 1/11
    assert after[0] >= before[0] - 0.02
    assert after[1] < 0.01
    assert fitted.explain(data.test.x).kept.sum(1).tolist() == [K] * len(data.test)
    again = Deceptive(words=("he", "she"), lam=0.0, k=K, recipe=Recipe(epochs=2, batch=16, rate=1e-3)).fit(given, data)
    assert found(again.model_)[1] > 0.1
