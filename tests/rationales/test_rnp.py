"""RNP: who learns from what."""

from __future__ import annotations

import pytest
import torch

from rationales.lessons import moved, ready, slopes
from rationales.samples import rows, unfitted
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales.rnp import RNP
from unmask.training import Recipe, soft_cross_entropy

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("gradient", ["reinforce", "straight-through"])
def test_each_step_is_its_own_players(gradient: str, free: bool) -> None:
    own, batch = ready("rnp", gradient=gradient, free=free)
    assert moved(slopes(own._predicting(batch), own.net_.teller))
    assert not moved(slopes(own._predicting(batch), own.net_.chooser))
    assert moved(slopes(own._choosing(batch), own.net_.chooser))
    assert moved(slopes(own._choosing(batch), own.net_.teller)) == (gradient == "straight-through")


def test_the_reward_is_minus_tanh_of_the_loss() -> None:
    own, batch = ready("rnp")
    state = batch.rng.get_state()
    drawn = own.drawn(batch)
    loss = soft_cross_entropy(own.net_.teller(batch.x, drawn.kept.detach()), batch.y)
    want = (drawn.log_prob * loss.tanh().detach()).mean()  # the mean of past rewards is 0 at the start
    batch.rng.set_state(state)
    assert float(own._choosing(batch).detach()) == pytest.approx(float(want.detach()), abs=1e-6)


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="gradient must be"):
        RNP(gradient="none")


def test_fitted_again_it_has_forgotten_old_rewards() -> None:
    own, x = unfitted("rnp"), rows("sentences").test.x
    first = own.fit(rows("sentences")).predict(x)
    assert torch.equal(own.fit(rows("sentences")).predict(x), first)


@pytest.mark.parametrize("gradient", ["reinforce", "straight-through"])
def test_it_finds_the_column_that_tells(gradient: str) -> None:
    recipe = Recipe(epochs=60, batch=40, rate=5e-3, seed=1)
    own = RNP(2, gradient=gradient, nets=Nets(hidden=16), recipe=recipe).fit(rows("table"))
    kept = own.explain(rows("table").test.x).kept
    assert float(kept[:, 2:4].any(1).float().mean()) > 0.9  # column 2 is high in one class, column 3 in the other
    right = own.predict(rows("table").test.x).argmax(1) == rows("table").test.y
    assert float(right.float().mean()) > 0.9
    assert torch.equal(kept.sum(1), torch.full((len(kept),), 2))
