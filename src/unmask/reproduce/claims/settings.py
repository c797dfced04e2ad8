"""Explanations depend on settings that nobody argues for: LIME's kernel and draws, what is absent for SHAP and IG."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from unmask.audit.stability import shared
from unmask.distances import spearman
from unmask.reproduce.claims.ground import Found, Ground
from unmask.types import Dataset, Explanation

__all__ = ["WIDTH", "alike", "ig_baseline", "lime_kernel", "lime_samples", "shap_background"]

WIDTH = 0.75  # of LIME's kernel in roots of the number of units: that of the reference package for tables
SAMPLES = 1000  # where the kernel is what changes
AGAIN = 1_000_003  # added to a seed for a second run


def lime_samples(at: Ground, row: str) -> Found:
    """LIME depends on its draws: two runs that differ in nothing but the seed, each with so many samples."""
    own = {"samples": int(_value(row))}
    return alike(at.explain("lime", own), at.explain("lime", {**own, "seed": at.seed + AGAIN}))


def lime_kernel(at: Ground, row: str) -> Found:
    """LIME depends on the width of its kernel: the same draws, weighed by another kernel than the usual one.

    `drop` is by how much less they agree than two runs of the usual kernel, which differ in their draws.
    """
    usual = _lime(at, WIDTH)
    found = alike(usual, _lime(at, float(_value(row))))
    again = alike(usual, _lime(at, WIDTH, at.seed + AGAIN))
    return {**found, "drop": torch.as_tensor(again["overlap"]) - torch.as_tensor(found["overlap"])}


def shap_background(at: Ground, row: str) -> Found:
    """Shapley values depend on what absent means: "mean and zero" are two backgrounds, "marginal again" other rows."""
    return _baselines(at, "kernel-shap", row)


def ig_baseline(at: Ground, row: str) -> Found:
    """Integrated gradients depend on the baseline: "zero and mean" are two of them."""
    return _baselines(at, "integrated-gradients", row)


def alike(a: Explanation, b: Explanation) -> Found:
    """Per cent of the kept units that both keep, and the rank correlation of the scores."""
    return {"overlap": 100 * shared(a.kept, b.kept), "correlation": spearman(a.scores, b.scores, a.valid)}


def _value(row: str) -> str:
    return row.partition("=")[2]


def _lime(at: Ground, width: float, seed: int | None = None) -> Explanation:
    sigma = width * at.data.layout.d**0.5
    settings: dict[str, Any] = {"samples": SAMPLES, "distance": "euclidean", "sigma": sigma}
    return at.explain("lime", settings if seed is None else {**settings, "seed": seed})


def _baselines(at: Ground, method: str, row: str) -> Found:
    first, _, other = row.partition(" and ")
    if not other:  # "marginal again": the same law, other draws
        first = row.removesuffix(" again")
        again = at.once(("again", method, first), lambda: at.ask(at.make(method, removal=first), data=_turned(at.data)))
        return alike(at.explain(method, removal=first), again)
    return alike(at.explain(method, removal=first), at.explain(method, removal=other))


def _turned(data: Dataset) -> Dataset:
    """The training rows in the opposite order: draws of them are draws of other rows."""
    return replace(data, train=data.train.rows(torch.arange(len(data.train)).flip(0)))
