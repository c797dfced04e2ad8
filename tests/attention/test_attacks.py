"""Attention moved where it hurts most, and changes of length one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from unmask.attention.attacks import misled, unit
from unmask.seeds import generator


def test_attention_is_moved_to_the_edge_of_the_radius() -> None:
    """The answer is a weighted sum of states: the worst change is the radius times the sign of each state."""
    states = torch.randn(3, 4, generator=generator(0), requires_grad=True)
    where = torch.arange(4) < torch.tensor([4, 2, 0])[:, None]
    w = torch.full((3, 4), 0.25, requires_grad=True)
    model = SimpleNamespace(answer=lambda states, weights: (states * weights).sum(1, keepdim=True))
    raw: Tensor = misled(model, (w, states), lambda raw: raw[:, 0], where, 0.1, generator(1))  # type: ignore[arg-type]
    most = (0.25 * states).sum(1) + 0.1 * (states.abs() * where).sum(1)
    torch.testing.assert_close(raw[:, 0], most)
    slope, by_state = torch.autograd.grad(raw.sum(), [w, states])  # what is answered in the end has slopes
    torch.testing.assert_close(slope, states.detach())
    torch.testing.assert_close(by_state, (0.25 + 0.1 * states.sign() * where).detach())


@pytest.mark.parametrize("shape", [(4, 6), (4, 3, 5), (4, 2, 3, 5)])
def test_a_row_of_any_shape_is_brought_to_length_one(shape: tuple[int, ...]) -> None:
    change = torch.randn(shape, generator=generator(1))
    change[1] = 0.0
    found = unit(change)
    size = found.flatten(1).norm(dim=1)
    torch.testing.assert_close(size, torch.tensor([1.0, 0.0, 1.0, 1.0]))
    torch.testing.assert_close(found[0] * change[0].norm(), change[0])
