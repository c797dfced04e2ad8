"""The highest of k draws: the same noise, the same values and the same gradient as with all draws at hand."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import kstest
from torch import Tensor

from unmask.masking import highest
from unmask.seeds import generator

TAU = 0.5


def at_hand(s: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """All draws of all rows at once, as the law is written."""
    u = torch.rand((len(s), k, s.shape[1]), generator=rng).clamp(torch.finfo(torch.float32).tiny, 1 - 2**-24)
    return torch.softmax((s[:, None] - (-u.log()).log()) / TAU, dim=-1).amax(1)


def with_gradient(found: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.linspace(-1.0, 1.0, s.shape[1])
    (gradient,) = torch.autograd.grad((found * weights).sum(), s)
    return found.detach(), gradient


def test_gumbel_noise_has_its_law() -> None:
    noise = highest.gumbel((8000,), generator(0))
    assert bool(noise.isfinite().all())
    assert kstest(noise.numpy(), "gumbel_r").pvalue > 1e-3


@pytest.mark.parametrize("held", [1, 40, 10**9], ids=["a row at a time", "some rows at a time", "all rows"])
@pytest.mark.parametrize("sure", [1.0, 60.0], ids=["unsure", "sure: draws tie"])
@pytest.mark.parametrize("few", [0, 10**9], ids=["drawn again", "kept"])
def test_few_rows_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch, held: int, sure: float, few: int) -> None:
    monkeypatch.setattr(highest, "FEW", few)
    monkeypatch.setattr(highest, "HELD", held)
    s = (sure * torch.randn(7, 5, generator=generator(1))).requires_grad_()
    got = with_gradient(highest.highest_share(s, 3, TAU, generator(2)), s)
    want = with_gradient(at_hand(s, 3, generator(2)), s)
    assert torch.equal(got[0], want[0])
    torch.testing.assert_close(got[1], want[1], rtol=1e-5, atol=1e-6)
    assert float(want[1].abs().max()) > 0.01 or sure > 1


def test_one_unit_has_no_gradient_however_many_draws_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highest, "FEW", 0)
    s = torch.zeros(2, 1, requires_grad=True)
    value, gradient = with_gradient(highest.highest_share(s, 4, TAU, generator(0)), s)
    assert value.tolist() == [[1.0], [1.0]]
    assert gradient.tolist() == [[0.0], [0.0]]


def test_the_noise_goes_on_as_if_all_had_been_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    after = []
    for few in (0, 10**9):
        monkeypatch.setattr(highest, "FEW", few)
        monkeypatch.setattr(highest, "HELD", 30)
        rng, s = generator(5), torch.randn(6, 9, generator=generator(6)).requires_grad_()
        highest.highest_share(s, 2, TAU, rng).sum().backward()  # the gradient draws again, from a copy
        after.append(torch.rand(3, generator=rng))
    assert torch.equal(after[0], after[1])
