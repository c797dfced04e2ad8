"""The axioms of integrated gradients as measurements: who keeps them, and who breaks them. Sundararajan et al. 2017."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from unmask.masking.removals import make_removal
from unmask.models import Wrapped, bind, wrap
from unmask.nets import Reader, read
from unmask.nets.tables import standard
from unmask.reproduce.claims.ground import Found, Ground
from unmask.reproduce.claims.ignoring import Guided
from unmask.types import Dataset, Explainer

__all__ = ["Saturated", "Twin", "axioms", "incomplete", "insensitive", "variant"]

STEPS = 256  # of the path: ReLU networks have kinks
FAR = 2.0  # standard deviations from the baseline, where a saturated unit has stopped to rise
NOTHING = 1e-6  # of the row's largest score
PROBABILITIES = ("kernel-shap", "lime")  # these explain p(target), the others log p(target)


class Saturated(nn.Module):
    """Logits 0 and sum_j min(z_j, 1) of standardised columns z: beyond 1 a column counts, but its slope is 0."""

    centre: Tensor
    scale: Tensor

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader, self.relu = reader, nn.ReLU()
        self.register_buffer("centre", reader.centre.clone())
        self.register_buffer("scale", reader.scale.clone())

    def forward(self, x: Tensor) -> Tensor:
        z = standard(x, self.reader, self.centre, self.scale, None).flatten(1)
        total = (1 - self.relu(1 - z)).sum(1)
        return torch.stack([torch.zeros_like(total), total], 1)


class Twin(nn.Module):
    """The same function of x, written differently: x = c + relu(x - c) - relu(c - x) goes into the module."""

    centre: Tensor

    def __init__(self, module: nn.Module, centre: Tensor) -> None:
        super().__init__()
        self.module, self.relu = module, nn.ReLU()
        self.register_buffer("centre", centre.clone())

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.module(self.centre + self.relu(x - self.centre) - self.relu(self.centre - x))
        return found


def axioms(at: Ground, row: str) -> Found:
    """Integrated gradients keep sensitivity, implementation invariance and completeness; plain gradients do not.

    Three shares, per cent: of units that matter and get nothing, of the scores that change with the way the same
    function is written, and of F(x) - F(baseline) that the scores miss.
    """
    explainer = _explainer(at, row)
    return {
        "sensitivity-broken": insensitive(at, explainer),
        "invariance-broken": variant(at, explainer),
        "completeness-gap": incomplete(at, explainer, row in PROBABILITIES),
    }


def insensitive(at: Ground, explainer: Explainer) -> Tensor:
    """(d,) per cent of units that get nothing though the row differs from the baseline in them alone, and the answer.

    One row for each unit, for the saturated model: the mean, this unit FAR above it.
    """
    data, reader = _two_classes(at.data), read(at.data)
    model = bind(wrap(Saturated(reader), outputs="logits"), data)
    d = at.data.layout.d
    moved = at.data.layout.spread(torch.eye(d, dtype=torch.bool))
    x = torch.where(moved, reader.centre + FAR * reader.scale, reader.centre)
    scores = explainer.clone().fit(model, data).explain(x, torch.ones(d, dtype=torch.long)).scores
    nothing = scores.diagonal().abs() <= NOTHING * scores.abs().amax(1)
    differs = model(x)[:, 1] != model(reader.centre[None])[:, 1]
    return 100 * (nothing & differs).float()


def variant(at: Ground, explainer: Explainer) -> Tensor:
    """(n,) per cent of a row's scores that change for the twin, sum |a - a'| / sum |a|."""
    assert at.model.module is not None
    twin = Twin(at.model.module, read(at.data).centre).eval()
    other = replace(at.model, module=twin, call=twin, name=f"{at.model.name}, written differently")
    a, b = at.ask(explainer.clone()).scores, at.ask(explainer.clone(), other).scores
    return 100 * (a - b).abs().sum(1) / a.abs().sum(1).clamp(min=1e-12)


def incomplete(at: Ground, explainer: Explainer, probabilities: bool = False) -> Tensor:
    """(n,) |sum of scores - (F(x) - F(baseline))| in per cent of the mean |F(x) - F(baseline)|."""
    scores = at.ask(explainer.clone()).scores
    gain = _said(at.model, at.x, at.target, probabilities) - _said(at.model, _empty(at), at.target, probabilities)
    return 100 * (scores.sum(1) - gain).abs() / gain.abs().mean().clamp(min=1e-12)


def _explainer(at: Ground, row: str) -> Explainer:
    if row == "guided-backprop":
        return Guided(at.k, at.removal)
    explainer: Explainer = at.make(row, {"steps": STEPS} if row == "integrated-gradients" else None)
    return explainer


def _said(model: Wrapped, x: Tensor, target: Tensor, probabilities: bool) -> Tensor:
    with torch.no_grad():
        said = model.log_probabilities(x).gather(1, target[:, None])[:, 0]
    return said.exp() if probabilities else said


def _empty(at: Ground) -> Tensor:
    nothing = torch.zeros(len(at.x), at.data.layout.d, dtype=torch.bool)
    first: Tensor = next(iter(make_removal(at.removal, at.data).versions(at.x, nothing)))
    return first


def _two_classes(data: Dataset) -> Dataset:
    return replace(data, classes=data.classes[:2])
