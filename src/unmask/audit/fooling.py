"""Can it be made to lie? The model is trained on until its saliency points elsewhere, and answers as well as before.

"Fooling Neural Network Interpretations via Adversarial Model Manipulation", Heo et al. 2019, passive fooling. With h
the saliency map of the true class over units, as shares of its sum,

    loss = CE(y) + lam * mean over units of (h / max h - m)^2      location: m is 1 on the chosen units, else 0
    loss = CE(y) + lam * sum over the first model's top k of h     top-k

The slope of h over the weights is a slope of a slope. For h dropout is off, as it is when people look at the map.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.training import Recipe, minimize, soft_cross_entropy
from unmask.types import Dataset, Layout

__all__ = ["Fooling", "astray", "fooled", "least_used", "saliency"]

ROWS = 512  # whose slopes are taken at once
NOTHING = 1e-12  # slopes that sum to less are none
LAM = {"location": 3.0, "top-k": 0.1}  # enough on digits: more costs accuracy and moves no more


@dataclass(frozen=True)
class Fooling:
    """Where the map shall go: to `where` (d,), by default the k units it uses least, or away from its k best units.

    `lam` weighs it, LAM where none is given; 0 is honest further training.
    """

    k: int
    form: Literal["location", "top-k"] = "location"
    where: Tensor | None = None
    lam: float | None = None
    recipe: Recipe = Recipe(epochs=20, batch=64, rate=1e-3)

    def __post_init__(self) -> None:
        if self.form not in ("location", "top-k"):
            raise InputError(f"form must be location or top-k, got {self.form!r}")
        if self.lam is not None and not self.lam >= 0:
            raise InputError(f"lam must not be below 0, got {self.lam}")

    @property
    def weight(self) -> float:
        return LAM[self.form] if self.lam is None else self.lam


def saliency(model: Wrapped, x: Tensor, y: Tensor, layout: Layout, graph: bool = False) -> Tensor:
    """(n, d) sum over a unit of |d log p(y) / d x|, as a share of the row's sum; with `graph` it can be trained.

    Computed from the log-odds, whose slope is that of log p(y) over 1 - p(y): the same shares, and no slope vanishes
    where the answer is sure.
    """
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        said = model.log_probabilities(x)
        others = said.scatter(1, y[:, None], -torch.inf).logsumexp(1)
        odds = said.gather(1, y[:, None])[:, 0] - others
        (slope,) = torch.autograd.grad(odds.sum(), x, create_graph=graph)
        found = layout.gather(slope.nan_to_num().abs())
        return found / found.sum(1, keepdim=True).clamp(min=NOTHING)


def astray(h: Tensor, goal: Tensor, form: str) -> Tensor:
    """(n,) how far the maps h (n, d) are from where they shall be; `goal` (n, d) is m, or the units to be left."""
    if form == "location":
        return (h / h.amax(1, keepdim=True).clamp(min=NOTHING) - goal).square().mean(1)
    return (h * goal).sum(1)


def least_used(model: Wrapped, data: Dataset, k: int) -> Tensor:
    """(d,) the k units that the saliency of the training rows points to least: nobody expects them in a map."""
    mean = _maps(model, model.feed(data.train.x), data.train.y, data.layout).mean(0, keepdim=True)
    return subsets.topk(-mean, k, torch.ones_like(mean, dtype=torch.bool))[0]


def fooled(model: Wrapped, data: Dataset, how: Fooling) -> Wrapped:
    """A copy of the model, trained on; the epoch is the one that fools most on validation rows at equal accuracy."""
    if data.layout.is_text or model.module is None:
        raise InputError(f"only a torch model of a table or of images can be trained to move its map, not {model.name}")
    module = deepcopy(model.module)
    copy = replace(model, module=module, call=module, name=f"{model.name}, trained on")
    rows = {part: (model.feed(data[part].x).cpu(), data[part].y) for part in ("train", "validation")}
    goals = {part: _goal(model, data, x, y, how) for part, (x, y) in rows.items()}
    held, y = rows["validation"]
    right = _right(copy, held, y)

    def loss(x: Tensor, label: Tensor, goal: Tensor, rng: torch.Generator) -> Tensor:
        clean = soft_cross_entropy(copy.log_probabilities(x), label)
        if how.weight == 0:
            return clean.mean()
        module.eval()
        return (clean + how.weight * astray(saliency(copy, x, label, data.layout, True), goal, how.form)).mean()

    def score() -> float:
        lost = right - _right(copy, held, y)
        missed = astray(_maps(copy, held, y, data.layout), goals["validation"], how.form).mean()
        return -float(missed) if lost <= 0 else -1 - lost

    lesson = (*rows["train"], goals["train"])
    chosen = score if how.weight else None  # the control is trained on to the end
    minimize({"model": (module, loss)}, lesson, how.recipe, score=chosen, title="moving maps")
    return copy


def _goal(model: Wrapped, data: Dataset, x: Tensor, y: Tensor, how: Fooling) -> Tensor:
    if how.form == "location":
        where = least_used(model, data, how.k) if how.where is None else how.where
        return where.float().expand(len(x), -1)
    h = _maps(model, x, y, data.layout)
    return subsets.topk(h, how.k, torch.ones_like(h, dtype=torch.bool)).float()


def _maps(model: Wrapped, x: Tensor, y: Tensor, layout: Layout) -> Tensor:
    pairs = zip(x.split(ROWS), y.split(ROWS), strict=True)
    return torch.cat([saliency(model, rows, label, layout).detach() for rows, label in pairs])


def _right(model: Wrapped, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        return float((model.log_probabilities(x).argmax(1) == y).float().mean())
