"""MGR: several generators, each with its rate."""

from __future__ import annotations

import pytest
import torch

from rationales.lessons import ready, slopes
from rationales.samples import rows
from unmask.errors import InputError
from unmask.rationales import learning
from unmask.rationales.mgr import MGR
from unmask.training import Recipe, soft_cross_entropy

pytestmark = pytest.mark.slow


def test_rates_differ_by_player(monkeypatch: pytest.MonkeyPatch) -> None:
    own, _ = ready("mgr", generators=3)
    own.recipe = Recipe(epochs=1, rate={"predictor": 3e-3, "generator": 1e-3})
    seen = {}
    monkeypatch.setattr(learning, "learn", lambda own, lesson, players, rates: seen.update(rate=rates, of=players))
    own.fit(rows("sentences"))
    assert seen["rate"] == pytest.approx(
        {"predictor": 1e-3, "generator 1": 1e-3, "generator 2": 2e-3, "generator 3": 3e-3}
    )
    assert len({id(module) for module, _ in seen["of"].values()}) == 4


def test_generators_start_differently_and_learn_alone() -> None:
    own, batch = ready("mgr", generators=2)
    task = learning.begin(own, rows("sentences")).task
    own._others = [own._made(task, 1).chooser]
    assert not torch.equal(own._others[0](batch.x), own.net_.chooser(batch.x))
    loss = own._choosing(own._others[0])(batch)
    assert all(g is None for g in slopes(loss, own.net_.chooser))
    assert any(g is not None for g in slopes(own._choosing(own._others[0])(batch), own._others[0]))


def test_the_predictor_reads_them_all() -> None:
    own, batch = ready("mgr", generators=2)
    task = learning.begin(own, rows("sentences")).task
    own._others = [own._made(task, 1).chooser]
    state = batch.rng.get_state()
    both = own._predicting(batch)
    batch.rng.set_state(state)
    want = 0.0
    for chooser in (own.net_.chooser, *own._others):
        kept = own._drawn(chooser, batch).kept.detach()
        want += float(soft_cross_entropy(own.net_.teller(batch.x, kept), batch.y).mean().detach())
    assert float(both.detach()) == pytest.approx(want, abs=1e-6)
    with pytest.raises(InputError, match="at least 1"):
        MGR(generators=0)
