"""Weights that take away what attention alone tells: a planted code, two classifiers, noise, no slope."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention.planted import FLIP, UNITS, blind, coin, corpus, given, on_constants, shortcut
from attention.samples import model, task
from unmask.attention import neutral
from unmask.attention.neutral import Weighting, _Neutral
from unmask.attention.pupils import pupil
from unmask.errors import InputError, UnmaskWarning
from unmask.seeds import generator
from unmask.training import Recipe, minimize, soft_cross_entropy

pytestmark = pytest.mark.slow

RATES = {"weighting": 2e-3, "mask classifier": 1e-2}
PLANTED = Recipe(epochs=5, batch=64, rate=RATES)
SHORT = Recipe(epochs=2, batch=16, rate=2e-3)
AS_WRITTEN: dict[str, Any] = {"noise": 0.0, "smooth": 0.05, "floor": 0.05, "warm": 1}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, AS_WRITTEN, {"noise": 0.0, "hidden": 0}, {"noise": 0.0, "held_out": False}])
def test_a_weighted_reader_is_not_told_by_the_planted_code(settings: dict[str, Any]) -> None:
    """Attention is right in four rows of five; unweighted, a reader gives the label .68 (see test_schemes)."""
    fitted = Weighting(**settings, select=False, recipe=PLANTED).fit(blind(planted=True), coin())
    told = fitted.readings_["weights"]
    assert given(fitted.model_) == pytest.approx(0.5, abs=0.05)
    assert told["mean"] == pytest.approx(1.0, abs=0.05)
    assert told["mask classifier on validation rows"] == pytest.approx(1 - FLIP, abs=0.05)
    assert fitted.readings_["warnings"] == []
    if settings:  # without noise the weights are those of the formula, .625 and 2.5, some rare rows beyond
        assert 0.5 / 0.8 - 0.12 < told["lowest"] < 0.5 / 0.8
        assert told["highest"] > 0.5 / 0.2


# --- the parts --------------------------------------------------------------------------------------------------------


class Fixed(nn.Module):
    """Says the same logits to every row."""

    def __init__(self, *p: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(p).log())

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        return self.logits.expand(len(x), -1)


def made(**settings: Any) -> _Neutral:
    """Beside the coin's model, with classifiers that say .9 and .6 for heads to everything, and P(heads) = .3."""
    scheme = Weighting(**{"noise": 0.0, "recipe": replace(PLANTED, epochs=1), **settings})
    found = _Neutral.start(scheme, pupil(blind(planted=True), coin(400)))
    found.nets = nn.ModuleList([Fixed(0.9, 0.1), Fixed(0.6, 0.4)])
    found.frequency = torch.tensor([0.3, 0.7])
    return found


def rows(found: _Neutral, n: int = 6) -> list[Tensor]:
    return [t[:n] for t in found.own.train.all]


def by_hand(found: _Neutral, floor: float = 0.01) -> Tensor:
    """The weighted loss of six rows, one by one."""
    x, y, _, index = rows(found)
    each = soft_cross_entropy(found.own.model.module(x), y)
    share = 0.99 * torch.tensor([0.3, 0.7]) + 0.01 * y.bincount(minlength=2) / len(y)
    w = []
    for label, number in zip(y.tolist(), index.tolist(), strict=True):
        told = (0.9, 0.1) if number % 2 else (0.6, 0.4)  # the first learns even rows
        w.append(float(share[label]) / max(floor, told[label]))
    return (torch.tensor(w) * each).sum() / sum(w)


@pytest.mark.parametrize("floor", [0.01, 0.3])
def test_the_weighted_loss_is_the_formula(floor: float) -> None:
    found = made(floor=floor)
    want = by_hand(found, floor)
    torch.testing.assert_close(found.weighted(*rows(found), generator(0)), want)


def test_the_first_epochs_are_not_weighted() -> None:
    found = made(warm=1)
    x, y = rows(found)[:2]
    plain = soft_cross_entropy(found.own.model.module(x), y).mean()
    for _ in range(found.weighed.steps):
        torch.testing.assert_close(found.weighted(*rows(found), generator(0)), plain)
    assert not torch.isclose(found.weighted(*rows(found), generator(0)), plain)


def test_no_slope_goes_through_the_weights() -> None:
    found = made()
    loss = found.weighted(*rows(found), generator(0))
    assert torch.autograd.grad(loss, list(found.nets.parameters()), allow_unused=True) == (None, None)


@pytest.mark.parametrize("parity", [0, 1])
def test_a_classifier_learns_from_its_own_half_only(parity: int) -> None:
    found = made()
    x, y, valid, index = rows(found)
    loss = found.loss(x, y, valid, 2 * index + parity, generator(0))
    slopes = torch.autograd.grad(loss, list(found.nets.parameters()))
    assert [bool(s.any()) for s in slopes] == [parity == 0, parity == 1]


def test_a_single_classifier_learns_from_all_rows_and_weighs_them() -> None:
    found = _Neutral.start(Weighting(held_out=False), pupil(blind(planted=True), coin(400)))
    assert len(found.nets) == 1
    x, _, valid, index = rows(found)
    attention = valid / UNITS
    torch.testing.assert_close(found.told(x, attention, index), found.told(x, attention, index + 1))


def test_labels_are_smoothed() -> None:
    found = made(smooth=0.1)
    x, y, valid, index = rows(found)

    def slow(label: int, p: tuple[float, float]) -> float:
        return -sum((0.9 * (c == label) + 0.05) * torch.tensor(p[c]).log().item() for c in range(2))

    each = [slow(int(y[i]), (0.6, 0.4) if i % 2 else (0.9, 0.1)) for i in range(6)]
    got = found.loss(x, y, valid, index, generator(0))
    assert float(got.detach()) == pytest.approx(sum(each) / 6, abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_noise_mixes_the_attention_of_some_rows(noise: float) -> None:
    found, n = made(noise=noise), 4000
    attention = torch.eye(UNITS)[torch.zeros(n, dtype=torch.long)].requires_grad_()
    valid = torch.ones(n, UNITS, dtype=torch.bool)
    stirred = found.stirred(attention, valid, generator(0))
    torch.testing.assert_close(stirred.sum(1), torch.ones(n))
    assert float((stirred != attention).any(1).float().mean()) == pytest.approx(noise, abs=0.03)
    # of a mixed row half goes to a random attention on average, whose first weight is 1/6
    assert float(stirred[:, 0].detach().mean()) == pytest.approx(1 - noise * 0.5 * (1 - 1 / UNITS), abs=0.02)
    (slope,) = torch.autograd.grad(stirred.sum(), attention)
    assert float(slope.mean()) == pytest.approx(1 - noise / 2, abs=0.02)


def test_noise_stays_among_the_positions_there_are() -> None:
    found = made(noise=1.0)
    valid = torch.tensor([[True] * 4 + [False] * 2]).expand(50, UNITS)
    assert not found.stirred(valid / 4, valid, generator(0))[:, 4:].any()


def test_rows_that_nobody_learns_are_judged_without_noise_and_not_noted() -> None:
    found = made(noise=1.0)
    first, second = (found.judged(*rows(found), generator(i)) for i in (0, 1))
    assert torch.equal(first, second)
    assert found.weighed.seen == {}


@pytest.mark.parametrize("steps", [1, 3])
def test_the_classifier_moves_so_many_times_before_the_model(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []

    def watched(players: Any, *rest: Any, **named: Any) -> Any:
        moved.extend(players)
        return minimize(players, *rest, **named)

    monkeypatch.setattr(neutral, "minimize", watched)
    Weighting(steps=steps, recipe=SHORT).fit(model(), task())
    assert [name.rstrip("'") for name in moved] == ["mask classifier"] * steps + ["weighting"]


@pytest.mark.parametrize("hooked", [False, True])
def test_any_attention_model_can_be_trained(hooked: bool) -> None:
    given = model(hooked)
    assert given.module is not None
    before = [p.clone() for p in given.module.parameters()]
    first, again = (Weighting(recipe=SHORT).fit(given, task()) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(before, given.module.parameters(), strict=True))
    assert first.readings_ == again.readings_
    assert {"mean", "lowest", "highest", "mask classifier"} < set(first.readings_["weights"])
    assert torch.equal(first.model_(task().test.x), again.model_(task().test.x))
    assert len(first.history_.scores) == 2


@pytest.mark.parametrize(
    "wrong", [{"noise": 1.5}, {"smooth": 1.0}, {"floor": 0.0}, {"steps": 0}, {"hidden": -1}, {"warm": -1}]
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be"):
        Weighting(**wrong)


def test_where_attention_can_settle_every_label_weighting_cannot_help_and_says_so() -> None:
    """The rest of these reviews tells all, so attention does: no label is left to weigh against (compare IMDB)."""
    recipe = Recipe(epochs=10, batch=32, rate={"weighting": 2e-3, "mask classifier": 6e-3}, fade=0.95)
    with pytest.warns(UnmaskWarning, match="masks settle the answer"):
        found = Weighting(select=False, recipe=recipe).fit(shortcut(seed=0), corpus())
    assert on_constants(found.model_) > 4 / 9
    assert found.readings_["weights"]["mean"] < 0.8
