"""Which learning rates and how much exploration suit RNP, and which A2R? The same grid for both, on development seeds.

What is chosen by is the accuracy on validation rows alone; F1 against the known rationale is noted and chooses nothing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

from common import Record, rounded
from unmask import api
from unmask.audit.people import token_scores
from unmask.data import load
from unmask.reproduce.choices import rationale

SEEDS = (70, 71)
EXPLORED = {"reviews:preset=hard,bias=0.8": (0.1, 0.2, 0.4), "reviews:preset=hard,skew=20": (0.2,)}
RATES = ((2e-3, 5e-3), (2e-3, 2e-3), (5e-3, 5e-4), (1e-3, 1e-2))  # predictor, generator
ROWS = 2000


def trained(name: str, method: str, rates: tuple[float, float], explore: float, seed: int) -> dict[str, Any]:
    data = load(name, seed=seed, unit="sentences", n=ROWS)
    model, settings = rationale(method, name, "quick", seed)
    recipe = replace(settings["recipe"], rate=dict(zip(("predictor", "generator"), rates, strict=True)))
    own = api.rationalize(data, 1, method=model, seed=seed, settings={**settings, "recipe": recipe, "explore": explore})
    e = own.explain(data.test.x)
    assert data.test.relevant is not None
    f1 = token_scores(e.kept, data.test.relevant[:, : e.kept.shape[1]].bool())[2]
    return {"validation accuracy": rounded(own.readings_["accuracy"]), "f1": rounded(float(f1.nanmean()))}


def main() -> None:
    record = Record("rationale-settings")
    tried = (part for name, rates in EXPLORED.items() for part in product((name,), ("rnp", "a2r"), RATES, rates, SEEDS))
    for name, method, rates, explore, seed in tried:
        key = f"{name}|{method}|{rates[0]:g},{rates[1]:g}|{explore:g}|{seed}"
        record.entry(
            key,
            lambda name=name, method=method, rates=rates, explore=explore, seed=seed: trained(
                name, method, rates, explore, seed
            ),
        )
        record.summary = summary(record.entries)
        record.save()


def summary(entries: dict[str, Any]) -> dict[str, Any]:
    """The setting of each method on each set that is right most often on validation rows."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for key, entry in entries.items():
        name, method, rates, explore, _ = key.split("|")
        found.setdefault(f"{method} on {name}", {}).setdefault(f"rates {rates}, explore {explore}", []).append(entry)
    best = {}
    for what, by in found.items():
        means = {s: fmean(e["validation accuracy"] for e in each) for s, each in by.items() if len(each) == len(SEEDS)}
        if means:
            setting = max(means, key=lambda s: means[s])
            f1 = fmean(e["f1"] for e in by[setting])
            best[what] = {"setting": setting, "validation accuracy": rounded(means[setting]), "f1": rounded(f1)}
    return best


if __name__ == "__main__":
    main()
