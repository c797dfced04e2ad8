"""Grounds whose explanations are known in closed form."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import unmask
from unmask import nets, seeds
from unmask.models import bind, wrap
from unmask.reproduce.claims.ground import Ground
from unmask.types import Dataset

W = torch.tensor([0.02, -0.03, 0.05, 0.011, -0.007, 0.013])


def table(n: int = 240, seed: int = 0) -> Dataset:
    """Columns around 1, between 0.5 and 1.5; the class is the sign of what the weights make of them."""
    x = 0.5 + torch.rand(n, 6, generator=seeds.generator(seed))
    return unmask.dataset(x, ((x - 1) @ W > 0).long(), kind="table", seed=seed)


class Exponential(nn.Module):
    """p(class 0) = exp(x @ W - 1): its logarithm is linear in x."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(W.clone())

    def forward(self, x: Tensor) -> Tensor:
        p = (x @ self.w - 1).exp()
        return torch.stack([p, 1 - p], 1)


def additive(x: Any) -> Tensor:
    """p(class 0) = 0.3 + x @ W: linear in x, no slopes to be had."""
    p = 0.3 + torch.as_tensor(x) @ W
    return torch.stack([p, 1 - p], 1)


def on(model: Any, data: Dataset, k: int = 2, n: int = 20) -> Ground:
    """The first test rows, explained toward class 0 where the tests say so."""
    return Ground(model, data, data.test.x[:n], data.test.y[:n], k, "mean")


def toward_first(at: Ground) -> Ground:
    at.__dict__["target"] = torch.zeros(len(at.x), dtype=torch.long)
    return at


def exponential(data: Dataset) -> Ground:
    return toward_first(on(bind(wrap(Exponential(), outputs="probabilities"), data), data))


def summing(data: Dataset) -> Ground:
    return toward_first(on(bind(wrap(additive), data), data))


def perceptron(data: Dataset, seed: int = 0) -> Ground:
    """A network with weights as they were drawn: axioms ask for no learning."""
    with seeds.seeded(seed):
        net = nets.TableNet(nets.read(data), 2, (16, 16))
    return on(bind(wrap(net.eval()), data), data)
