"""One row about rationales: train a model that explains itself, then compare its rationales with the true ones."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask import api, seeds
from unmask.audit.people import auprc, iou_f1, token_scores, words_of
from unmask.data import load, review_words
from unmask.masking import subsets
from unmask.masking.controls import control_scores
from unmask.rationales.choosing import number
from unmask.reproduce.choices import BEER_ROWS, LAST, MOVIE_ROWS, REVIEW_ROWS, SHARE, SLOW_ROWS, WHOLE, split_name
from unmask.reproduce.measuring import Trial, percent, some
from unmask.reproduce.tables import CONTROLS, Scale, made
from unmask.types import Dataset, Split

__all__ = ["locked", "rationalized"]

AGREEMENT = ("precision", "recall", "f1")
STUCK = 0.9  # of the rationales are first sentences, where it is not known what sentences are about


def rationalized(trial: Trial, cache: Path) -> dict[str, Any]:
    """Accuracy, and agreement of the rationales with the true ones, in per cent."""
    started = time.perf_counter()
    data = _rows(trial.table.dataset, trial.seed, trial.scale, trial.row in WHOLE)
    if trial.row.endswith("/transformer"):
        most = SLOW_ROWS[split_name(trial.table.dataset)[0]]
        data = replace(data, train=some(data.train, most, trial.seed, "train"))
    k: int | float = trial.table.k or SHARE
    found: dict[str, Any] = {"key": trial.key, "n": len(data.test)}
    if trial.row in CONTROLS:
        rng = seeds.generator(seeds.derive(trial.seed, trial.row))
        scores, kept = control_scores(trial.row, data.test.valid, number(k, data.test.valid), rng)
        values = _values(data, kept, scores)
    else:
        method, settings = made(trial.row, trial.table, trial.scale, trial.seed)
        own = api.rationalize(data, k, method=method, seed=trial.seed, settings=settings)
        e = own.explain(data.test.x)
        kept, values = e.kept, {"accuracy": (e.target == data.test.y).float(), **_values(data, e.kept, e.scores)}
        found["readings"], found["curve"] = own.readings_, [round(100 * c["accuracy"], 2) for c in own.curve_]
    if trial.table.dataset == "eraser-movies":
        partial = _original(trial.seed, trial.scale)[:, : kept.shape[1]]
        values |= {f"{name}-original": v for name, v in zip(AGREEMENT, token_scores(kept, partial), strict=True)}
    found["values"] = {
        name: percent(v[~v.isnan()], trial.seed) for name, v in values.items() if name in trial.table.metrics
    }
    return {**found, "seconds": {"fit": round(time.perf_counter() - started, 1)}}


def _values(data: Dataset, kept: Tensor, scores: Tensor) -> dict[str, Tensor]:
    test, width = data.test, kept.shape[1]
    assert test.relevant is not None
    relevant, valid = test.relevant[:, :width], test.valid[:, :width]
    found = dict(zip(AGREEMENT, token_scores(kept, relevant, words_of(data.layout, test.x, valid)), strict=True))
    if data.kind != "sentences":
        return {**found, "iou-f1": iou_f1(kept, relevant), "auprc": auprc(scores, relevant, valid)}
    first = subsets.holds_first(kept, valid).float()
    stuck = float(first.mean()) > STUCK if split_name(data.name)[0] == "beer-lei" else locked(test, kept)
    return {**found, "x1": first, "locked": torch.tensor([float(stuck)])}


def locked(split: Split, kept: Tensor) -> bool:
    """Whether the kind of sentence that is kept most often is another than the one that tells the label."""
    assert split.relevant is not None
    kinds = Counter(review_words.aspect_of(split.x[i][j]) for i, j in kept.nonzero().tolist())
    gold = Counter(review_words.aspect_of(split.x[i][j]) for i, j in split.relevant.nonzero().tolist())
    return not kinds or kinds.most_common(1)[0][0] != gold.most_common(1)[0][0]


@lru_cache(maxsize=1)
def _rows(dataset: str, seed: int, scale: Scale, entire: bool = False) -> Dataset:
    base, skew = split_name(dataset)
    if base == "reviews":
        n = REVIEW_ROWS[scale] // 2 if skew and scale != "quick" else REVIEW_ROWS[scale]
        return load(dataset, seed=seed, unit="sentences", n=n)
    if base == "beer-lei":
        return load(dataset, seed=seed, rows=BEER_ROWS[scale])
    learned, tested = MOVIE_ROWS[scale]
    whole = load(base, seed=seed)
    short = whole if entire else load(base, seed=seed, length=LAST, truncate="tail")
    train, held = some(short.train, learned, seed, "train"), short.validation
    return replace(whole, train=train, validation=held, test=some(whole.test, tested, seed, "test"))


def _original(seed: int, scale: Scale) -> Tensor:
    """(n, d) what the first annotators marked in the same test reviews."""
    test = load("eraser-movies", seed=seed, annotation="original").test
    found = some(test, MOVIE_ROWS[scale][1], seed, "test").relevant
    assert found is not None
    return found
