"""3PLAYER: the complement's player reads the rest, and the generator is paid for beating it."""

from __future__ import annotations

import pytest
import torch

from rationales.lessons import moved, ready, slopes
from rationales.samples import rows
from unmask.rationales import learning
from unmask.training import Recipe

pytestmark = pytest.mark.slow


def test_who_learns_from_what() -> None:
    own, batch = ready("three-player")
    own._rest = own._made(_task(own), "complement").teller
    assert moved(slopes(own._opposing(batch), own._rest))
    assert not moved(slopes(own._opposing(batch), own.net_))
    assert moved(slopes(own._choosing(batch), own.net_.chooser))
    assert not moved(slopes(own._choosing(batch), own.net_.teller))


def _task(own):
    return learning.begin(own, rows("sentences")).task


def test_the_complement_is_the_rest_of_the_row() -> None:
    own, batch = ready("three-player")
    seen = []
    own._rest = lambda x, kept: seen.append(kept) or torch.zeros(len(x), 2)
    own.net_.teller = _Recorder(seen)
    state = batch.rng.get_state()
    own._opposing(batch)
    batch.rng.set_state(state)
    own._predicting(batch)
    assert torch.equal(seen[0].round() + seen[1].round(), batch.valid.float())


class _Recorder(torch.nn.Module):
    def __init__(self, seen) -> None:
        super().__init__()
        self.seen = seen

    def forward(self, x, kept):
        self.seen.append(kept)
        return torch.zeros(len(x), 2)


@pytest.mark.parametrize(("right", "left", "reward"), [(1, 0, 1.3), (1, 1, 0.1), (0, 1, -1.2), (0, 0, 0.0)])
def test_rewards(right: int, left: int, reward: float) -> None:
    own, batch = ready("three-player")

    def answers(good: int):
        return lambda x, kept: torch.nn.functional.one_hot(batch.y if good else 1 - batch.y, 2).float()

    own._rest = answers(left)
    own.net_.teller = torch.nn.Module()
    own.net_.teller.forward = answers(right)
    own._choosing(batch)
    assert own._rewards[-1] == pytest.approx(reward)


def test_the_complement_learns_as_fast_as_the_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    own, _ = ready("three-player")
    own.recipe = Recipe(epochs=1, rate={"predictor": 3e-3, "generator": 7e-3})
    seen: dict[str, float] = {}
    monkeypatch.setattr(learning, "learn", lambda own, lesson, players, rates: seen.update(rates))
    own.fit(rows("sentences"))
    assert seen == {"predictor": 3e-3, "complement": 3e-3, "generator": 7e-3}
