"""HardKuma: its probabilities against draws, its constraint against arithmetic."""

from __future__ import annotations

import math

import pytest
import torch

from rationales.lessons import ready
from rationales.samples import fitted, rows
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales.hardkuma import HardKuma, _law
from unmask.seeds import generator
from unmask.training import Recipe


def test_slopes_pass_through_draws() -> None:
    raw = torch.randn(50, 4, 2, generator=generator(1)).requires_grad_()
    _law(raw).sample(generator(2)).sum().backward()
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()
    assert (raw.grad != 0).any()


def test_multipliers_grow_while_the_constraint_is_broken() -> None:
    own = HardKuma(step=0.1)
    own._hold = {"open": [1.0, 0.0]}
    assert float(own._held("open", torch.tensor(0.4))) == pytest.approx(0.4 * math.exp(0.1 * 0.2))
    assert own._hold["open"] == pytest.approx([math.exp(0.02), 0.2])
    own._held("open", torch.tensor(-3.0))
    assert own._hold["open"][0] < math.exp(0.02)
    own._hold["open"] = [100.0, 0.0]
    own._held("open", torch.tensor(0.0))
    assert own._hold["open"][0] == 5.0


def test_scores_are_the_chances_of_being_open() -> None:
    raw = torch.randn(3, 4, 2, generator=generator(1))
    valid = torch.tensor([[1, 1, 1, 0]] * 3, dtype=torch.bool)
    scores, kept = HardKuma()._settled(raw, valid)
    assert torch.equal(scores, 1 - _law(raw).closed)
    assert not kept[:, 3].any()
    assert set(kept.flatten().tolist()) <= {0.0, 1.0}
    as_published = HardKuma(between="mean")._settled(raw, valid)[1]
    assert torch.equal(as_published, _law(raw).settled() * valid)
    assert torch.equal(as_published > 0, kept > 0)
    assert bool(((as_published > 0) & (as_published < 1)).any())


def test_changes_are_expected_in_closed_form() -> None:
    """P(one open, the other closed) of neighbours that are drawn apart, against drawn gates."""
    raw = torch.randn(1, 6, 2, generator=generator(3))
    open_ = 1 - _law(raw).closed
    a, b = open_[:, 1:], open_[:, :-1]
    want = float((a * (1 - b) + b * (1 - a)).sum())
    drawn = _law(raw.expand(40_000, -1, -1)).sample(generator(4)) > 0
    assert float((drawn[:, 1:] != drawn[:, :-1]).float().sum(1).mean()) == pytest.approx(want, abs=0.02)


def test_too_many_changes_cost() -> None:
    """With gates half open everywhere, only what goes beyond the free changes is paid for."""
    costs = []
    for changes in (1.0, 0.05):
        own, batch = ready("hardkuma", "words", changes=changes)
        own._hold = {"open": [0.0, 0.0], "changes": [1.0, 0.0]}
        own._loss(batch)
        costs.append(own._hold["changes"][0])
    assert costs[0] < 1 < costs[1]


def test_settings_are_checked() -> None:
    for wrong, told in (
        ({"changes": 0.0}, "changes must be"),
        ({"between": "half"}, "between must be open or mean"),
        ({"nets": Nets(spans=2)}, "not held to a number of spans"),
    ):
        with pytest.raises(InputError, match=told):
            HardKuma(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_gates_close_down_to_the_budget() -> None:
    recipe = Recipe(epochs=15, batch=20, rate=0.01, seed=1)
    own = HardKuma(first=0.1, nets=Nets(hidden=8), recipe=recipe).fit(rows("sentences"))
    assert own.curve_[0]["kept"] > 0.9
    assert own.readings_["over"] < 0.1
    assert own.readings_["kept"] > 0.2  # one sentence of four is the budget: they do not simply close
    assert own.readings_["accuracy"] > 0.65


@pytest.mark.slow
def test_the_soft_side_reads_through_the_means_of_the_gates() -> None:
    own, x = fitted("hardkuma", "sentences"), rows("sentences").test.x
    prepared = own.task_.reader.prepare(x)
    with torch.no_grad():
        gates = _law(own.net_.chooser(prepared)).mean * own.net_.reader.valid(prepared)
        want = own.net_.teller(prepared, gates).softmax(1)
    torch.testing.assert_close(own.softly(x), want)
