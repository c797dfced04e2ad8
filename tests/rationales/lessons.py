"""A model about to learn: built, with a batch to learn from."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from rationales.samples import rows, unfitted
from unmask.rationales import learning
from unmask.rationales.building import Batch
from unmask.seeds import generator


def ready(name: str, kind: str = "sentences", **settings: Any) -> tuple[Any, Batch]:
    own = unfitted(name, **settings)
    lesson = learning.begin(own, rows(kind))
    own.build(lesson.task)
    x, y, valid = (t[:12] for t in lesson.train)
    return own, Batch(x, y, valid, generator(7))


def slopes(loss: torch.Tensor, module: nn.Module) -> list[torch.Tensor | None]:
    return list(torch.autograd.grad(loss, list(module.parameters()), allow_unused=True))


def moved(found: list[torch.Tensor | None]) -> bool:
    return any(g is not None and bool((g != 0).any()) for g in found)
