"""The adversarial model: its loss against slow loops, its epoch, and that attention can be led away."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from attention.samples import SHORT, K, batch, lessons, model, task
from unmask import distances
from unmask.attention.adversary import CLOSE, Adversary
from unmask.attention.lessons import looked, protocol
from unmask.errors import InputError
from unmask.training import Recipe


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_the_loss_is_variation_minus_divergence_over_the_words_of_a_row(hooked: bool, lam: float) -> None:
    made = lessons(hooked, noise=0.4)
    some = batch(made)
    got = Adversary(lam=lam).loss(made, some)
    w, states = made.student.attend(some.x)
    p = made.student.answer(states, w).softmax(1)
    for i, length in enumerate(some.valid.sum(1).tolist()):
        far = sum(abs(a - b) for a, b in zip(p[i].tolist(), some.p[i].tolist(), strict=True)) / 2
        pairs = zip(w[i, :length].tolist(), some.w[i, :length].tolist(), strict=True)
        kl = sum(a * math.log(a / b) for a, b in pairs)
        assert float(got[i].detach()) == pytest.approx(far - lam * kl, abs=1e-4)


def test_nothing_is_infinite_where_the_old_attention_had_no_weight() -> None:
    made = lessons(noise=0.4)
    some = batch(made)
    one = torch.zeros_like(some.w)
    one[:, 0] = 1.0  # also where there are more words, and at padding
    loss = Adversary(lam=1.0).loss(made, replace(some, w=one))
    slopes = torch.autograd.grad(loss.sum(), list(made.student.module.parameters()))
    assert bool(loss.isfinite().all())
    assert all(bool(slope.isfinite().all()) for slope in slopes)


@pytest.mark.parametrize("noise", [0.02, 1.0])
def test_an_epoch_is_worth_how_far_attention_is_while_the_answers_are_close(noise: float) -> None:
    made = lessons(noise=noise)
    part = made.held
    raw, w = looked(made.student, part.x)
    tvd = float(distances.tvd(raw.softmax(1), part.p).mean())
    jsd = float(distances.jsd(w, part.w, part.valid).mean())
    assert (tvd <= CLOSE) == (noise < 1)
    value, readings = Adversary().worth(made)
    assert value == pytest.approx(jsd if tvd <= CLOSE else -tvd, abs=1e-6)
    assert readings == {"tvd": pytest.approx(tvd, abs=1e-6), "jsd": pytest.approx(jsd, abs=1e-6)}


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(InputError, match="lam must not be below 0"):
        Adversary(lam=-0.1)


def test_attention_is_led_away_and_the_answers_stay() -> None:
    given, data = model(), task()
    fitted = Adversary(k=K, lam=0.1, recipe=replace(SHORT, epochs=4)).fit(given, data)
    raw, w = looked(protocol(fitted.model_, data.test.x), fitted.model_.feed(data.test.x))
    old_raw, old = looked(protocol(given, data.test.x), given.feed(data.test.x))
    assert float(distances.tvd(raw.softmax(1), old_raw.softmax(1)).mean()) < 2 * CLOSE
    still = Adversary(k=K, lam=0.0, recipe=Recipe(epochs=1, batch=16, rate=1e-4)).fit(given, data)
    reached = fitted.readings_["reached"]
    assert reached["tvd"] <= CLOSE
    assert reached["jsd"] > 3 * still.readings_["reached"]["jsd"]
    assert float(distances.jsd(w, old, data.test.valid).mean()) == pytest.approx(reached["jsd"], abs=0.1)
