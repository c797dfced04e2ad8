"""The shared parts of learning: REINFORCE is unbiased, readings count, vectors are those asked for."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest
import torch

from rationales.samples import rows, unfitted
from unmask.data import load
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import learning
from unmask.rationales.draws import draw, explored
from unmask.seeds import generator
from unmask.training import Recipe

pytestmark = pytest.mark.slow


def test_reinforce_follows_the_slope_of_the_mean_reward() -> None:
    scores, reward = torch.tensor([[0.5, -0.2, 0.1]]), torch.tensor([1.0, -0.5, 0.3])
    exact = scores.clone().requires_grad_()
    valid = torch.ones(1, 3, dtype=torch.bool)
    (explored(exact, valid, 0.2) @ reward).sum().backward()
    n = 200_000
    drawn_by = scores.clone().requires_grad_()
    drawn = draw(drawn_by.expand(n, -1), valid.expand(n, -1), 1, 0.2, generator(0))
    got = learning.reinforced(drawn.log_prob, drawn.kept.detach() @ reward, deque([0.25]))
    got.backward()
    assert exact.grad is not None
    assert drawn_by.grad is not None
    torch.testing.assert_close(-drawn_by.grad, exact.grad, atol=3e-3, rtol=0)


def test_rewards_are_measured_against_the_last_ones() -> None:
    past = deque([0.0], 3)
    log_prob = torch.tensor([-1.0, -2.0])
    assert float(learning.reinforced(log_prob, torch.tensor([1.0, 3.0]), past)) == pytest.approx(3.5)
    assert float(learning.reinforced(log_prob, torch.tensor([1.0, 3.0]), past)) == pytest.approx(2.0)  # less the mean 1
    assert list(past) == [0.0, 2.0, 2.0]


def test_readings_say_where_and_how_much_is_kept() -> None:
    own = unfitted("rnp", 2).fit(rows("sentences"))
    lesson = learning.begin(own, rows("sentences"))
    e, held = own.explain(rows("sentences").validation.x), rows("sentences").validation
    found = learning._readings(own, lesson.held)
    assert found["accuracy"] == pytest.approx(float((e.target == held.y).float().mean()))
    assert found["first"] == pytest.approx(float(e.kept[:, 0].float().mean()))
    begins = e.kept.int().argmax(1)
    assert found["place"] == int(begins.mode().values) + 1
    assert found["modal"] == pytest.approx(float((begins == begins.mode().values).float().mean()))
    assert found["kept"] == pytest.approx(0.5)
    assert found["over"] == pytest.approx(0.0)
    assert own.readings_ == max(own.curve_, key=lambda c: c["accuracy"])


def test_what_is_over_the_budget_counts_against_an_epoch() -> None:
    own = unfitted("rnp", 1, free=True).fit(rows("sentences"))
    with torch.no_grad():
        own.net_.chooser.score.weight.zero_()  # no gate is open
    lesson = learning.begin(own, rows("sentences"))
    assert learning._readings(own, lesson.held)["over"] == 0
    own.net_.choose = lambda scores, valid: (scores, valid)  # all are
    assert learning._readings(own, lesson.held)["over"] == pytest.approx(0.75)


def test_the_opening_is_the_first_sentence_or_the_first_unit() -> None:
    data = load("reviews", n=12)
    lesson = learning.begin(unfitted("rnp"), data)
    found = learning.opening(data.train, lesson.train[2])
    assert torch.equal(found[:, : data.train.valid.shape[1]] > 0, data.train.sentence_of == 0)
    assert not found[:, data.train.valid.shape[1] :].any()
    bare = learning.opening(replace(data.train, sentence_of=None), lesson.train[2])
    assert bare.sum(1).tolist() == [1] * 12
    assert bool((bare[:, 0] == 1).all())


def test_data_may_ask_for_a_skewed_predictor() -> None:
    plain = rows("sentences")
    skewed = replace(plain, notes={**plain.notes, "skew": 2})
    by_data, by_model, neither = unfitted("rnp"), unfitted("rnp", skew=2), unfitted("rnp")
    for own, data in ((by_data, skewed), (by_model, plain), (neither, plain)):
        learning.start(own, data)
    first, second, third = (own.net_.teller.head.weight for own in (by_data, by_model, neither))
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_glove_is_for_texts() -> None:
    own = unfitted("a2r")
    own.nets = Nets(hidden=8, vectors="glove")
    with pytest.raises(InputError, match="for texts"):
        own.fit(rows("table"))


def test_a_transformer_reads_texts_only() -> None:
    own = unfitted("rnp", 1)
    own.nets = Nets(encoder="transformer")
    with pytest.raises(InputError, match=r"the encoder transformer reads texts, .* rows of kind table"):
        learning.begin(own, rows("table"))


def test_few_rows_are_learned_in_smaller_batches_where_nobody_says_otherwise() -> None:
    recipe = Recipe(epochs=1, batch=learning.BATCH)
    assert [learning.sized(recipe, rows).batch for rows in (8000, 4000, 1000, 200, 0)] == [200, 200, 50, 16, 16]
    assert learning.sized(Recipe(epochs=1, batch=256), 100).batch == 256
