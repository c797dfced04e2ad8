"""A copy of an attention model that is to learn from labels, with its rows; random attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.attention.lessons import TRIED, copied, protocol
from unmask.errors import InputError
from unmask.models import Wrapped, bind
from unmask.models.attending import Attentive, looked
from unmask.training import Loss, soft_cross_entropy
from unmask.types import Dataset, Split

__all__ = ["Pupil", "Rows", "dirichlet", "looking", "pupil"]


@dataclass(frozen=True)
class Rows:
    """Rows as the model reads them, their labels, the positions that each has, and their numbers."""

    x: Tensor
    y: Tensor
    valid: Tensor  # (n, d)
    index: Tensor

    @property
    def all(self) -> tuple[Tensor, ...]:
        return self.x, self.y, self.valid, self.index


@dataclass(frozen=True)
class Pupil:
    """A copy of the model that is to learn, and its rows."""

    wrapped: Wrapped
    model: Attentive
    train: Rows
    held: Rows

    def loss(self, states: Any, weights: Tensor, y: Tensor) -> Tensor:
        """(n,) cross-entropy of the labels with the answer under these weights."""
        raw = self.model.answer(states, weights)
        return soft_cross_entropy(raw if self.wrapped.outputs == "logits" else raw.clamp(min=1e-12).log(), y)

    def usual(self, x: Tensor, y: Tensor, valid: Tensor, index: Tensor, rng: torch.Generator) -> Tensor:
        """The mean loss under the model's own weights."""
        weights, states = self.model.attend(x)
        return self.loss(states, weights, y).mean()

    def held_out(self, loss: Loss, seed: int) -> float:
        """Minus the mean of a loss over the validation rows; draws are the same each time."""
        rng = seeds.generator(seeds.derive(seed, "validation rows"), self.held.y.device)
        batches = zip(*(t.split(512) for t in self.held.all), strict=True)
        with torch.no_grad():
            return -sum(len(rows[0]) * float(loss(*rows, rng)) for rows in batches) / len(self.held.y)

    def finish(self, scheme: Any, readings: Mapping[str, Any]) -> None:
        """What a scheme leaves behind: the trained model and how often it is right."""
        module = self.model.module.eval()
        scheme.model_ = replace(
            self.wrapped, module=module, call=module, name=f"{self.wrapped.name} after {scheme.method}"
        )
        right = {name: self._right(rows) for name, rows in (("train", self.train), ("validation", self.held))}
        scheme.readings_ = {"accuracy": right, **readings}

    def _right(self, rows: Rows) -> float:
        return round(float((looked(self.model, rows.x)[0].argmax(1) == rows.y.cpu()).float().mean()), 4)


def pupil(model: Any, data: Dataset) -> Pupil:
    """A copy of `model`, a network of ours or anything that `wrap` takes and that has attention, with its rows."""
    wrapped = bind(model, data)
    copy = copied(wrapped)
    found = protocol(copy, data.train.x)
    train, held = (_rows(copy, found, split) for split in (data.train, data.validation))
    return Pupil(copy, found, train, held)


def _rows(wrapped: Wrapped, model: Attentive, split: Split) -> Rows:
    """A model whose positions are not the words of a row says by `positions(x)` which it has."""
    x = wrapped.feed(split.x)
    own = getattr(model.module, "positions", None)
    valid = (split.valid if own is None else own(x)).to(x.device)
    width = model.attend(x[:TRIED])[0].shape[1]
    if width != valid.shape[1]:
        raise InputError(
            f"attention has {width} weights for {valid.shape[1]} words; a model that looks at something else than the "
            "words of a row needs a method positions(x), (n, d) bool"
        )
    return Rows(x, split.y.to(x.device), valid, torch.arange(len(x), device=x.device))


def dirichlet(valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) weights that know nothing: uniform among all that sum to one over the valid positions."""
    drawn = torch.empty(valid.shape, device=rng.device).exponential_(generator=rng).to(valid.device) * valid
    return drawn / drawn.sum(1, keepdim=True).clamp(min=torch.finfo(drawn.dtype).tiny)


def looking(own: Pupil) -> nn.Module:
    """What decides where to look and nothing else: the parameters that the answer under given weights does not use."""
    model = own.model
    weights, states = model.attend(own.train.x[:TRIED])
    free = [p for p in model.module.parameters() if p.requires_grad]
    said = model.answer(states, weights.detach()).sum()
    used = torch.autograd.grad(said, free, allow_unused=True) if said.requires_grad else [None] * len(free)
    found = [p for p, slope in zip(free, used, strict=True) if slope is None]
    if not found:
        raise InputError(
            f"{own.wrapped.name} has nothing to learn about where to look: its attention has no parameters"
        )
    named = {id(p) for p in model.attention.parameters()}
    return model.attention if named == {id(p) for p in found} else nn.ParameterList(found)
