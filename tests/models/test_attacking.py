"""Projected gradient ascent: within the radius, where it may, and to the known maximum of a linear function."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from unmask.models import attending
from unmask.models.attacking import STEPS, ascend, attacked
from unmask.models.attending import attentive, noise
from unmask.seeds import generator

SLOPE = torch.randn(4, 6, generator=generator(0))
WHERE = torch.arange(6) < torch.tensor([6, 3, 1, 0])[:, None]


def linear(delta: Tensor) -> Tensor:
    return (delta * SLOPE).sum(1)


def test_noise_is_uniform_in_the_radius() -> None:
    drawn = noise(torch.Size([20_000]), 0.3, generator(0))
    assert float(drawn.abs().max()) <= 0.3
    assert float(drawn.mean()) == pytest.approx(0.0, abs=0.005)
    assert float(drawn.std()) == pytest.approx(0.6 / 12**0.5, abs=0.003)
    assert torch.equal(drawn, noise(torch.Size([20_000]), 0.3, generator(0)))


@pytest.mark.parametrize("radius", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("steps", [STEPS, 3, 25])
def test_a_linear_harm_reaches_its_maximum(radius: float, steps: int) -> None:
    delta = ascend(linear, WHERE, radius, generator(1), steps)
    torch.testing.assert_close(delta, radius * SLOPE.sign() * WHERE)
    torch.testing.assert_close(linear(delta), radius * (SLOPE.abs() * WHERE).sum(1))


def test_no_change_goes_beyond_the_radius_or_beyond_the_words() -> None:
    seen: list[Tensor] = []

    def harm(delta: Tensor) -> Tensor:
        seen.append(delta.detach().clone())
        return (delta * SLOPE).sin().sum(1)

    seen.append(ascend(harm, WHERE, 0.2, generator(1)))
    assert len(seen) == STEPS + 1
    for delta in seen:
        assert float(delta.abs().max()) <= 0.2 + 1e-7
        assert float(delta[~WHERE].abs().sum()) == 0
    assert not seen[-1].requires_grad


def test_it_starts_at_random_and_moves_by_equal_steps() -> None:
    seen: list[Tensor] = []

    def harm(delta: Tensor) -> Tensor:
        seen.append(delta.detach().clone())
        return linear(delta)

    ascend(harm, WHERE, 0.5, generator(1))
    torch.testing.assert_close(seen[0], noise(WHERE.shape, 0.5, generator(1)) * WHERE)
    want = (seen[0] + SLOPE.sign() * (2 * 0.5 / STEPS)).clamp(-0.5, 0.5) * WHERE
    torch.testing.assert_close(seen[1], want)


def test_harm_grows() -> None:
    def harm(delta: Tensor) -> Tensor:
        return ((delta - 0.03) ** 2 * SLOPE.abs()).sum(1)  # highest in the corner -radius

    delta = ascend(harm, WHERE, 0.2, generator(1), steps=20)
    best = ((-0.2 - 0.03) ** 2 * SLOPE.abs() * WHERE).sum(1) + (0.03**2 * SLOPE.abs() * ~WHERE).sum(1)
    start = noise(WHERE.shape, 0.2, generator(1)) * WHERE
    assert bool((harm(delta) >= harm(start))[:3].all())
    assert bool((harm(delta) <= best + 1e-6).all())


def test_the_same_generator_gives_the_same_change() -> None:
    def flat(delta: Tensor) -> Tensor:
        return (delta * 0).sum(1)  # no slope: what comes out is the start

    first, again, other = (ascend(flat, WHERE, 0.2, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    torch.testing.assert_close(first, noise(WHERE.shape, 0.2, generator(1)) * WHERE)


def test_nothing_else_is_moved() -> None:
    weight = torch.ones(6, requires_grad=True)
    ascend(lambda delta: (delta * weight).sum(1), WHERE, 0.2, generator(1))
    assert weight.grad is None


class Sum(nn.Module):
    """Its answer is the sum of the vectors of a row, its weights are even."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 2)

    def attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        vectors = self.table(x)
        return torch.ones(x.shape) / x.shape[1], vectors

    def answer(self, states: Tensor, weights: Tensor) -> Tensor:
        found: Tensor = (states * weights[..., None]).sum(1)
        return found

    def forward(self, x: Tensor) -> Tensor:
        weights, states = self.attend(x)
        return self.answer(states, weights)


def test_words_are_moved_as_far_as_allowed_and_what_is_no_word_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Harm is the first column of the answer: a fifth of the radius for each word of a row of five."""
    monkeypatch.setattr(attending, "VALUES", 10)  # two rows of five words at once, here and where they are read
    x = torch.randint(5, (3, 5), generator=generator(0))
    valid = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
    model = attentive(Sum().train(), x)
    before = model.module(x).detach()
    raw, weights = attacked(model, (x, valid), lambda raw, said: (raw - said)[:, 0], 0.1, 7)
    torch.testing.assert_close((raw - before)[:, 0], 0.1 * valid.sum(1) / 5)
    assert bool(((raw - before)[:, 1].abs() <= 0.1).all())
    torch.testing.assert_close(weights, torch.full((3, 5), 0.2))
    assert model.module.training
