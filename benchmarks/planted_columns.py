"""Learned selectors where the truth is known: the share of relevant columns among those kept, on fresh rows.

The model explained is the true conditional probability of the four synthetic tasks; k is the number of columns that
matter. What each method needs to be trained with was chosen on validation rows of seeds from 100 on.
"""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import mean
from typing import Any

import torch

from common import Record, rounded
from unmask.data import load, probabilities
from unmask.methods import make
from unmask.models import wrap
from unmask.training import Recipe

TASKS = {"xor": 2, "orange": 4, "additive": 4, "switch": 5}
ROWS = 20_000
LONG = Recipe(epochs=30, batch=256, rate=1e-3)
METHODS: dict[str, dict[str, Any]] = {
    "random": {},
    "l2x": {"recipe": LONG},
    "invase": {},
    "real-x": {},
    "cxplain": {},
    "fastshap": {},
    "meed": {"recipe": LONG},
    "mimic": {"recipe": LONG},
}
BY_SIZE = ("cxplain", "fastshap")  # their scores are effects, large ones of either sign count
SEEDS = range(60, 63)


def share(method: str, task: str, seed: int, split: str = "test", **settings: Any) -> dict[str, Any]:
    """Of the relevant columns, the share that is kept, and the share that is among those with the largest scores."""
    started = time.perf_counter()
    data = load(task, seed=seed, n=ROWS)
    model = wrap(lambda x: probabilities(task, torch.as_tensor(x)))
    explainer = make(method, TASKS[task], None, {**METHODS[method], **settings})
    if hasattr(explainer, "recipe"):
        explainer = replace(explainer, recipe=replace(explainer.recipe, seed=seed))
    explained = explainer.fit(model, data).explain(data[split].x)
    relevant = data[split].relevant
    top = explained.scores.abs().topk(TASKS[task], dim=1).indices
    large = torch.zeros_like(relevant).scatter_(1, top, True)
    kept, size = (rounded(float((chosen & relevant).sum() / relevant.sum())) for chosen in (explained.kept, large))
    return {"share": kept, "share by size": size, "seconds": round(time.perf_counter() - started, 1)}


def summed(record: Record, method: str, task: str) -> float | None:
    """The mean over seeds of the share that is kept; of methods whose scores are effects, by their size."""
    which = "share by size" if method in BY_SIZE else "share"
    return rounded(mean(record.entries[f"{method} {task}:{seed}"][which] for seed in SEEDS))


def main() -> None:
    record = Record("selectors-truth")
    for seed in SEEDS:  # a whole seed first: a run that is cut short says something of all
        for task in TASKS:
            for method in METHODS:
                record.entry(f"{method} {task}:{seed}", lambda m=method, t=task, s=seed: share(m, t, s))
    record.summary = {method: {task: summed(record, method, task) for task in TASKS} for method in METHODS}
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
