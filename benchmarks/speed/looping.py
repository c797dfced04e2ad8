"""The same algorithms as plain loops: a row, a unit, a draw at a time, as published code often has them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from quantus_agreement import Pair, Setting
from speed import grounds
from speed.checking import raced
from unmask import api, seeds
from unmask.audit import function_of, infidelity
from unmask.audit.curves import STEPS
from unmask.data import load
from unmask.explainers.smoothgrad import SmoothGrad
from unmask.masking import subsets

DRAWS = 20


def plain(small: bool) -> dict[str, Any]:
    """Explainers and checks on digits against loops that ask the model about one changed row at a time.

    Both draw the same changes and come to the same numbers. The loop for the k-hot draw is a case of its own (draw).
    """
    data = load("digits", seed=0)
    s = Setting(data, api.train_model(data, recipe=grounds.SHORT), rows=5 if small else 50)
    pairs = {
        "occlusion": occlusion(s),
        "SmoothGrad, 20 draws": smoothgrad(s),
        "deletion, ten points": deletion(s),
        "infidelity, 100 sets of units": raw_infidelity(s),
    }
    return raced(pairs, {}, small, others="loops")


def _says(s: Setting, row: Tensor, target: Tensor) -> Tensor:
    """p(target) of one row."""
    return s.model(row[None])[0, target]


def _without(row: Tensor, removed: Tensor) -> Tensor:
    """One row whose removed units are 0."""
    return torch.where(removed.view_as(row), 0.0, row)


def occlusion(s: Setting) -> Pair:
    explainer = api.fit(s.model, s.data, s.case.k, method="occlusion", removal="zero")
    units = torch.eye(s.case.valid.shape[1], dtype=torch.bool)

    def loops() -> Tensor:
        rows = []
        for row, target in zip(s.case.x, s.case.target, strict=True):
            full = _says(s, row, target).log()
            rows.append(torch.stack([full - _says(s, _without(row, unit), target).log() for unit in units]))
        return torch.stack(rows)

    return lambda: explainer.explain(s.case.x, s.case.target).scores, loops


def smoothgrad(s: Setting) -> Pair:
    explainer = SmoothGrad(s.case.k, draws=DRAWS).fit(s.model, s.data)

    def loops() -> Tensor:
        rng = seeds.generator(seeds.derive(explainer.seed, explainer.method))
        noises = [torch.randn(s.case.x.shape[1:], generator=rng) for _ in range(DRAWS)]
        rows = []
        for row, target in zip(s.case.x, s.case.target, strict=True):
            spread, total = explainer.noise * (row.max() - row.min()), torch.zeros_like(row)
            for noise in noises:
                x = (row + spread * noise)[None].requires_grad_()
                total += torch.autograd.grad(s.model.log_probabilities(x)[0, target], x)[0][0]
            rows.append(total.flatten() / DRAWS)
        return torch.stack(rows)

    return lambda: explainer.explain(s.case.x, s.case.target).scores, loops


def deletion(s: Setting) -> Pair:
    """The area below p(target) as the best units are taken away, a tenth at a time."""
    best = s.explanation.scores.argsort(dim=1, descending=True, stable=True)

    def loops() -> Tensor:
        areas = []
        for row, target, order in zip(s.case.x, s.case.target, best, strict=True):
            said = []
            for share in STEPS:
                removed = torch.zeros(len(order), dtype=torch.bool)
                removed[order[: math.ceil(share * len(order) - 1e-6)]] = True
                said.append(_says(s, _without(row, removed), target))
            areas.append(torch.trapezoid(torch.stack(said), dx=1 / (len(STEPS) - 1)))
        return torch.stack(areas)

    return lambda: function_of("deletion")(s.fresh(), s.subject).values, loops


def raw_infidelity(s: Setting) -> Pair:
    def loops() -> Tensor:
        rng = seeds.generator(seeds.derive(s.case.seed, "infidelity"))
        removed = subsets.any_size(s.case.valid.repeat_interleave(infidelity.SAMPLES, 0), rng)
        sets, found = removed.view(len(s.case.x), infidelity.SAMPLES, -1), []
        for row, target, scores, drawn in zip(s.case.x, s.case.target, s.explanation.scores, sets, strict=True):
            full, misses = _says(s, row, target), []
            for units in drawn:
                lost = full - _says(s, _without(row, units), target)
                misses.append((scores[units].sum() - lost).square())
            found.append(torch.stack(misses).mean())
        return torch.stack(found)

    return lambda: function_of("infidelity-raw")(s.fresh(), s.subject).values, loops
