"""Plain training and random pretraining: who moves when, and what a planted code is worth."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.planted import FLIP, blind, coin, corpus, given, on_constants, shortcut
from attention.samples import SHORT, model, net, task
from unmask.attention import schemes
from unmask.attention.schemes import Plain, RandomPretraining
from unmask.attention.seat import SEAT
from unmask.models import Wrapped
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.training import Recipe, minimize

pytestmark = pytest.mark.slow

PLANTED = Recipe(epochs=5, batch=64, rate=2e-3)


def state(made: Any) -> dict[str, Tensor]:
    return deepcopy(made.state_dict())


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> set[str]:
    return {name for name in a if torch.equal(a[name], b[name])}


@pytest.mark.parametrize("scheme", [Plain(recipe=SHORT), RandomPretraining(recipe=SHORT)], ids=lambda s: s.method)
def test_the_model_given_stays_as_it_is(scheme: Any) -> None:
    made = model()
    before = state(made.module)
    scheme.clone().fit(made, task())
    assert same(before, state(made.module)) == set(before)


@pytest.mark.parametrize("scheme", [Plain(recipe=SHORT), RandomPretraining(recipe=SHORT)], ids=lambda s: s.method)
def test_the_same_seed_gives_the_same_model(scheme: Any) -> None:
    first, again = (state(scheme.clone().fit(model(), task()).model_.module) for _ in range(2))
    other = replace(scheme, recipe=replace(SHORT, seed=1)).fit(model(), task())
    assert same(first, again) == set(first)
    assert same(first, state(other.model_.module)) != set(first)


@pytest.mark.parametrize("scheme", [Plain(recipe=SHORT), RandomPretraining(recipe=SHORT)], ids=lambda s: s.method)
def test_a_model_caught_at_its_submodule_is_trained_alike(scheme: Any) -> None:
    own, caught = (scheme.clone().fit(model(hooked), task()).model_ for hooked in (False, True))
    for a, b in zip(state(own.module).values(), state(caught.module).values(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def test_an_untrained_network_learns() -> None:
    made = attention_net(read(task()), 3, "gru", hidden=16)
    fitted = Plain(recipe=Recipe(epochs=12, batch=16, rate=1e-2)).fit(made, task())
    assert isinstance(fitted.model_, Wrapped)
    assert fitted.readings_["accuracy"]["validation"] > 0.7
    answers = fitted.model_(task().train.x).argmax(1)
    assert fitted.readings_["accuracy"]["train"] == pytest.approx(
        float((answers == task().train.y).float().mean()), abs=1e-3
    )


def test_the_trained_model_can_be_trained_on_by_others() -> None:
    fitted = Plain(recipe=SHORT).fit(net(), task())
    assert SEAT(3, recipe=SHORT).fit(fitted.model_, task()).readings_["after"]["overlap"] > 0


def test_the_epoch_is_chosen_on_validation_rows_unless_the_last_is_wanted() -> None:
    chosen = Plain(recipe=replace(SHORT, rate=0.1, epochs=4)).fit(model(), task())
    assert chosen.history_.best == max(range(4), key=chosen.history_.scores.__getitem__)
    last = Plain(select=False, recipe=replace(SHORT, epochs=3)).fit(model(), task())
    assert (last.history_.best, last.history_.scores) == (2, [])


def test_first_all_but_the_attention_moves_then_the_attention_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """States before, between and after the two stages; in the second what is frozen does not train."""
    seen: list[dict[str, Tensor]] = []
    modes: list[bool] = []
    pupils: list[Any] = []

    def start(*given: Any) -> Any:
        pupils.append(own := make(*given))
        seen.append(state(own.model.module))
        return own

    def watched(players: Any, rows: Any, *rest: Any, **named: Any) -> Any:
        [(name, (player, loss))] = players.items()

        def noting(*batch: Any) -> Tensor:
            modes.append(pupils[0].model.module.encoder.training)
            return loss(*batch)  # type: ignore[no-any-return]

        history = minimize({name: (player, noting)}, rows, *rest, **named)
        seen.append(state(pupils[0].model.module))
        return history

    make = schemes.pupil
    monkeypatch.setattr(schemes, "pupil", start)
    monkeypatch.setattr(schemes, "minimize", watched)
    RandomPretraining(select=False, recipe=SHORT).fit(model(), task())
    before, between, after = seen
    looks = {name for name in before if name.startswith("attention.")}
    assert same(before, between) == looks
    assert same(between, after) == set(before) - looks
    half = len(modes) // 2
    assert all(modes[:half])
    assert not any(modes[half:])


@pytest.mark.slow
def test_a_reader_learns_the_planted_code() -> None:
    """The weights are right in four rows of five, the values tell nothing."""
    fitted = Plain(select=False, recipe=PLANTED).fit(blind(planted=True), coin())
    assert fitted.readings_["accuracy"]["train"] == pytest.approx(1 - FLIP, abs=0.04)
    assert given(fitted.model_) == pytest.approx(0.8 * 0.8 + 0.2 * 0.2, abs=0.03)


@pytest.mark.slow
def test_attention_that_may_code_does_so_plainly_and_not_after_pretraining() -> None:
    plain = Plain(select=False, recipe=replace(PLANTED, epochs=10)).fit(blind(planted=False), coin())
    cured = RandomPretraining(select=False, recipe=PLANTED).fit(blind(planted=False), coin())
    assert given(plain.model_) > 0.64
    assert given(cured.model_) == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_attention_on_tokens_that_say_nothing(seed: int) -> None:
    """Reviews whose opening tells a little and whose rest tells all: plainly trained attention speaks by constants."""
    recipe = Recipe(epochs=6, batch=32, rate=2e-3, fade=0.95, seed=seed)
    plain = Plain(select=False, recipe=recipe).fit(shortcut(seed=seed), corpus())
    cured = RandomPretraining(select=False, recipe=recipe).fit(shortcut(seed=seed), corpus())
    assert on_constants(plain.model_) > 4 / 9
    assert on_constants(cured.model_) < 0.2
    assert min(s.readings_["accuracy"]["train"] for s in (plain, cured)) > 0.95
