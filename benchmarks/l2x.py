"""L2X where the truth is known: median rank on the four synthetic tasks, and the share of relevant words in reviews."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    task: str
    k: int
    best: float
    draw: Literal["k-hot", "gumbel-topk"] = "k-hot"
    tau: float = 0.1
    activation: Literal["relu", "selu"] = "relu"
    recipe: Recipe = Recipe(epochs=12, batch=1000, rate=1e-3, decay=2e-3)


# 100,000 rows seen twelve times in place of 1,000,000 seen once; the published weight decay (1e-3 on squares is 2e-3
# here), batches, temperature and activations. Only `additive` is drawn otherwise: without replacement, straight
# through, chosen on *validation* rows of seeds 100 to 108. The paper's draw with replacement keeps losing a column
# there (`additive-published`) and writes the answer into the choice instead. Tried as well and kept: straight-through
# draws on the others (on `switch` they fail: seeds 40 to 44), small batches for `switch`. Seeds 0 to 22 served earlier
# choices.
SYNTHETIC = {
    "xor": Setting("xor", 2, 1.5),
    "orange": Setting("orange", 4, 2.5),
    "additive": Setting("additive", 4, 2.5, "gumbel-topk", 0.5),
    "switch": Setting("switch", 5, 3.0, activation="selu"),
}
TRIED = {
    "additive-published": Setting("additive", 4, 2.5, activation="selu"),
    "xor-straight-through": Setting("xor", 2, 1.5, "gumbel-topk", 0.5),
    "orange-straight-through": Setting("orange", 4, 2.5, "gumbel-topk", 0.5),
    "switch-small-batches": Setting(
        "switch", 5, 3.0, "k-hot", 0.2, "selu", Recipe(epochs=6, batch=256, rate=1e-3, decay=1e-3)
    ),
}
SEEDS = range(50, 60)  # looked at when everything above was fixed; five of them for what was merely tried
REVIEWS = range(3)


def median_ranks(kept: Tensor, relevant: Tensor, seed: int) -> Tensor:
    """(n,) the median rank of each row's relevant columns; as published, ranks inside the selection are random."""
    noisy = kept + torch.rand(kept.shape, generator=seeds.generator(seed))
    places = torch.arange(1.0, kept.shape[1] + 1).expand(kept.shape)
    rank = torch.empty(kept.shape).scatter_(1, noisy.argsort(1, descending=True), places)
    return torch.nanquantile(rank.masked_fill(~relevant, torch.nan), 0.5, dim=1)


def synthetic(name: str, seed: int, split: str = "test") -> dict[str, Any]:
    """The model explained is the true conditional probability; 100,000 training rows."""
    way = {**SYNTHETIC, **TRIED}[name]
    data = load(way.task, seed=seed)
    model = wrap(lambda x: probabilities(way.task, torch.as_tensor(x)))
    recipe = replace(way.recipe, seed=seed)
    explainer = L2X(k=way.k, tau=way.tau, draw=way.draw, activation=way.activation, recipe=recipe)
    explained = explainer.fit(model, data).explain(data[split].x)
    ranks = median_ranks(explained.kept, data[split].relevant, seed)
    found = (explained.kept & data[split].relevant).sum() / data[split].relevant.sum()
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
    todo = {**dict.fromkeys(SYNTHETIC, SEEDS), **dict.fromkeys(TRIED, SEEDS[:5])}
    for name, repeats in todo.items():
        for seed in repeats:
            record.entry(f"{name}:{seed}", lambda name=name, seed=seed: synthetic(name, seed))
    for preset, repeats in (("easy", REVIEWS), ("hard", range(1))):
        for seed in repeats:
            record.entry(f"reviews-{preset}:{seed}", lambda seed=seed, preset=preset: reviews(seed, preset))
    record.summary = {}
    for name, repeats in todo.items():
        found = [record.entries[f"{name}:{seed}"]["median rank"] for seed in repeats]
        best = {**SYNTHETIC, **TRIED}[name].best
        within = sum(rank <= best + 0.5 for rank in found) / len(found)
        record.summary[name] = {"median ranks": found, "optimum": best, "share within half a rank": within}
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
