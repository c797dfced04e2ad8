"""Which way of reading finds what people mark in movie reviews? Tried on the validation reviews, which choose.

People marked some of the rationales there, about 7% of the words, and all of them in the test reviews: what counts is
how a model stands to the words it would have marked at random, and to the last fifth of the review.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from common import Record, rounded
from unmask import api, seeds
from unmask.audit.people import token_scores
from unmask.data import load
from unmask.masking.controls import control_scores
from unmask.rationales.choosing import number
from unmask.reproduce.choices import LAST, SHARE, WHOLE, rationale

ROWS = ("random", "last-k", "a2r", "rnp", "a2r+local", "a2r+places", "rnp+places")
SEEDS = (70,)


def measured(row: str, seed: int) -> dict[str, Any]:
    whole = load("eraser-movies", seed=seed)
    held = whole.validation
    assert held.relevant is not None
    if row in ("random", "last-k"):
        rng = seeds.generator(seeds.derive(seed, row))
        kept = control_scores(row, held.valid, number(SHARE, held.valid), rng)[1]
        return _agreement(kept, held.relevant)
    method, settings = rationale(row, "eraser-movies", "default", seed)
    short = whole if row in WHOLE else load("eraser-movies", seed=seed, length=LAST, truncate="tail")
    data = replace(whole, train=short.train, validation=short.validation)
    own = api.rationalize(data, SHARE, method=method, seed=seed, settings=settings)
    e = own.explain(held.x)
    right = float((e.target == held.y).float().mean())
    return {**_agreement(e.kept, held.relevant[:, : e.kept.shape[1]]), "accuracy": rounded(right)}


def _agreement(kept: Any, relevant: Any) -> dict[str, Any]:
    names = ("precision", "recall", "f1")
    return {n: rounded(float(v.nanmean())) for n, v in zip(names, token_scores(kept, relevant), strict=True)}


def main() -> None:
    record = Record("movie-settings")
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")] or ROWS
    for row in wanted:
        for seed in SEEDS:
            record.entry(f"{row}|{seed}", lambda row=row, seed=seed: measured(row, seed))
    chance = record.entries.get(f"random|{SEEDS[0]}", {}).get("precision")
    if chance:
        record.summary = {
            key: f"{entry['precision'] / chance:.2f} times chance" for key, entry in record.entries.items()
        }
    record.save()


if __name__ == "__main__":
    main()
