"""Is attention bound to what the model says? What others have asked of it, asked of BiLSTMs on short texts.

`diagnose` (Wiegreffe & Pinter 2019): a network that sees words one by one, under the model's weights, equal ones and
its own. `Adversary` (the same paper): a copy taught to answer alike and to look elsewhere, for several weights of that
wish. Conicity (Mohankumar et al. 2020): how alike the states are that attention weighs.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from common import Record, rounded
from unmask import Adversary, diagnose, distances, load, nets, train_attention
from unmask.data.vectors import glove
from unmask.models import Wrapped
from unmask.models.attending import attentive
from unmask.training import Recipe
from unmask.types import Dataset

SETS = ("sst2", "rotten-tomatoes", "hate")
LAMBDAS = (0.0, 0.001, 0.01, 0.1, 1.0)
SEED = 0


def cones(model: Wrapped, data: Dataset) -> dict[str, Any]:
    x, valid = model.feed(data.test.x), data.layout.valid(data.test.x)
    assert model.module is not None
    with torch.no_grad():
        states = attentive(model.module, x[:4]).attend(x)[1]
    chance = distances.conicity(torch.randn(states.shape, generator=torch.Generator().manual_seed(SEED)), valid)
    return {
        "conicity": rounded(float(distances.conicity(states, valid).mean())),
        "of states that point anywhere": rounded(float(chance.mean())),
    }


def led_away(model: Wrapped, data: Dataset, lam: float) -> dict[str, Any]:
    """How far attention went on test rows, and what became of the answers."""
    other: Any = Adversary(lam=lam, recipe=Recipe(epochs=8, batch=32, rate=1e-3, seed=SEED)).fit(model, data)
    looks = [attentive(m.module, m.feed(data.test.x[:4])).look(m.feed(data.test.x)) for m in (model, other.model_)]
    (raw, w), (said, v) = ((a.detach(), b.detach()) for a, b in looks)
    valid = data.layout.valid(data.test.x)
    return {
        "jsd": rounded(float(distances.jsd(w, v, valid).mean())),
        "tvd": rounded(float(distances.tvd(raw.softmax(1), said.softmax(1)).mean())),
        "same answers": rounded(float((raw.argmax(1) == said.argmax(1)).float().mean())),
    }


def main() -> None:
    record = Record("cross-examination")
    for name in SETS:
        data = load(name, seed=SEED)
        model = train_attention(
            data, "bilstm", vectors="glove", recipe=Recipe(epochs=8, batch=32, rate=1e-3, patience=3)
        )
        vectors = glove(nets.read(data).vocabulary, SEED)
        record.entry(f"{name}:cones", lambda model=model, data=data: cones(model, data))
        record.entry(
            f"{name}:diagnosis",
            lambda model=model, data=data, vectors=vectors: {
                k: rounded(v) for k, v in asdict(diagnose(model, data, vectors=vectors)).items()
            },
        )
        for lam in LAMBDAS:
            record.entry(f"{name}:lam={lam:g}", lambda model=model, data=data, lam=lam: led_away(model, data, lam))
    record.save()


if __name__ == "__main__":
    main()
