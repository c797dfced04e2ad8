"""L2X where the truth is known: median rank on the four synthetic tasks, and the share of relevant words in reviews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from common import Record, rounded
from unmask import seeds
from unmask.api import fit, train_model
from unmask.data import load, probabilities
from unmask.explainers.l2x import L2X
from unmask.models import wrap
from unmask.training import Recipe


@dataclass(frozen=True)
class Setting:
    """How L2X is trained on a task; `best` is the best median rank there is."""

    k: int
    best: float
    activation: Literal["relu", "selu"] = "relu"
    tau: float = 0.1
    batch: int = 1000
    epochs: int = 10


# As published (temperature 0.1, batches of 1000, ReLU for the first two), with 100,000 rows seen ten times in place of
# 1,000,000 seen once, and without the paper's weight decay and batch norm. About twenty settings were tried on additive
# and switch with the test ranks of seeds 0 to 5, 10 and 11 in view: those seeds flatter. Only the fresh seeds count.
SYNTHETIC = {
    "xor": Setting(2, 1.5),
    "orange": Setting(4, 2.5),
    "additive": Setting(4, 2.5),
    "additive-selu": Setting(4, 2.5, "selu"),
    "switch": Setting(5, 3.0, "selu", tau=0.2, batch=256, epochs=5),
}
SEEDS = range(3)  # seen while settings were chosen
FRESH = range(20, 23)


def median_ranks(kept: Tensor, relevant: Tensor, seed: int) -> Tensor:
    """(n,) the median rank of each row's relevant columns; as published, ranks inside the selection are random."""
    noisy = kept + torch.rand(kept.shape, generator=seeds.generator(seed))
    places = torch.arange(1.0, kept.shape[1] + 1).expand(kept.shape)
    rank = torch.empty(kept.shape).scatter_(1, noisy.argsort(1, descending=True), places)
    return torch.nanquantile(rank.masked_fill(~relevant, torch.nan), 0.5, dim=1)


def synthetic(task: str, seed: int) -> dict[str, Any]:
    """The model explained is the true conditional probability; 100,000 training rows."""
    way = SYNTHETIC[task]
    task = task.removesuffix("-selu")
    data = load(task, seed=seed)
    model = wrap(lambda x: probabilities(task, torch.as_tensor(x)))
    recipe = Recipe(epochs=way.epochs, batch=way.batch, rate=1e-3, seed=seed)
    explainer = L2X(k=way.k, tau=way.tau, activation=way.activation, recipe=recipe)
    explained = explainer.fit(model, data).explain(data.test.x)
    ranks = median_ranks(explained.kept, data.test.relevant, seed)
    found = (explained.kept & data.test.relevant).sum() / data.test.relevant.sum()
    return {
        "median rank": rounded(float(ranks.median())),
        "mean of median ranks": rounded(float(ranks.mean())),
        "optimum": way.best,
        "share of relevant columns kept": rounded(float(found)),
    }


def reviews(seed: int, preset: str) -> dict[str, Any]:
    """Share of the three kept words that are the label aspect's sentiment words, on unseen reviews."""
    data = load("reviews", seed=seed, preset=preset)
    model = train_model(data, seed=seed)
    scores = {"model accuracy": model.details["test accuracy"]}
    base = data.test.relevant.sum() / data.test.valid.sum()
    for method in ("l2x", "random", "integrated-gradients"):
        explained = fit(model, data, 3, method=method, seed=seed).explain(data.test.x)
        scores[method] = rounded(float((explained.kept & data.test.relevant).sum() / explained.kept.sum()))
    return {**scores, "base rate": rounded(float(base))}


def main() -> None:
    record = Record("l2x-truth")
    for task in SYNTHETIC:
        for seed in (*SEEDS, *FRESH):
            record.entry(f"{task}:{seed}", lambda task=task, seed=seed: synthetic(task, seed))
    for preset, repeats in (("easy", SEEDS), ("hard", range(1))):
        for seed in repeats:
            record.entry(f"reviews-{preset}:{seed}", lambda seed=seed, preset=preset: reviews(seed, preset))
    ranks = {key: entry["median rank"] for key, entry in record.entries.items() if "median rank" in entry}
    record.summary = {
        task: {
            "seeds seen while choosing settings": [ranks[f"{task}:{seed}"] for seed in SEEDS],
            "fresh seeds": [ranks[f"{task}:{seed}"] for seed in FRESH],
            "optimum": way.best,
        }
        for task, way in SYNTHETIC.items()
    }
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
