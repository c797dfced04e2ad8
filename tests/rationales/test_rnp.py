"""RNP: who learns from what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from rationales.lessons import moved, ready, slopes
from rationales.samples import rows, unfitted
from unmask.errors import InputError
from unmask.rationales import building
from unmask.rationales.building import Batch
from unmask.rationales.rnp import RNP
from unmask.training import soft_cross_entropy

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


@pytest.mark.parametrize("name", ["rnp", "three-player", "fr", "mgr", "mcd", "rnp-straight-through"])
def test_what_breaks_the_budget_costs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws with and without excess: the reward falls, or the loss grows, by just the weight times the excess."""
    found = []
    for excess in (0.0, 0.25):
        own, batch = ready(name, free=True, lam=2.0)
        own._rest = own.net_.teller
        own._others = []
        drawn = building.drawn(own, own.net_.chooser, batch, 0.1)
        fixed = replace(drawn, excess=torch.full_like(drawn.excess, excess))
        monkeypatch.setattr(building, "drawn", lambda *_, fixed=fixed: fixed)
        if name in ("rnp", "three-player"):
            own._choosing(batch)
            found.append(-own._rewards[-1])
        else:
            loss = own._choosing(own.net_.chooser)(batch) if name == "mgr" else _generators(own, batch)
            found.append(float(loss.detach()))
        monkeypatch.undo()
    assert found[1] - found[0] == pytest.approx(0.5, abs=1e-5)


def _generators(own: Any, batch: Batch) -> torch.Tensor:
    loss: torch.Tensor = (own._loss if hasattr(own, "_loss") else own._choosing)(batch)
    return loss


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="gradient must be"):
        RNP(gradient="none")


def test_fitted_again_it_has_forgotten_old_rewards() -> None:
    own, x = unfitted("rnp"), rows("sentences").test.x
    first = own.fit(rows("sentences")).predict(x)
    assert torch.equal(own.fit(rows("sentences")).predict(x), first)
