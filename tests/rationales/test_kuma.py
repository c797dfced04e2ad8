"""Gates: their probabilities and mean against draws."""

from __future__ import annotations

import pytest
import torch

from unmask.rationales.kuma import Kuma
from unmask.seeds import generator

SHAPES = [(0.5, 0.5), (1.0, 1.0), (2.0, 0.7), (0.3, 4.0), (5.0, 5.0)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_closed_and_full_gates_are_as_likely_as_they_say(a: float, b: float) -> None:
    n = 200_000
    law = Kuma(torch.full((n,), a), torch.full((n,), b))
    z = law.sample(generator(0))
    assert float(z.min()) >= 0
    assert float(z.max()) <= 1
    assert float((z == 0).float().mean()) == pytest.approx(float(law.closed[0]), abs=0.005)
    assert float((z == 1).float().mean()) == pytest.approx(float(law.full[0]), abs=0.005)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_mean_is_that_of_the_gate(a: float, b: float) -> None:
    drawn = Kuma(torch.full((400_000,), a), torch.full((400_000,), b)).sample(generator(3))
    assert float(Kuma(torch.tensor([a]), torch.tensor([b])).mean) == pytest.approx(float(drawn.mean()), abs=4e-3)


def test_without_noise_the_most_likely_counts() -> None:
    law = Kuma(torch.tensor([0.1, 5.0, 4.0]), torch.tensor([5.0, 0.1, 8.0]))
    settled = law.settled()
    assert settled[:2].tolist() == [0.0, 1.0]
    assert float(settled[2]) == pytest.approx(float(law.mean[2]))
    assert 0 < float(settled[2]) < 1
