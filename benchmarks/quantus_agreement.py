"""Quantus and this library on the same explanations: the metrics that both have, value by value.

    pip install quantus, then: python benchmarks/quantus_agreement.py --fresh

Integrated gradients of a network on digits; marks of relevant pixels are drawn at random, for digits have none. Where
the two define something differently, ours is turned into theirs by the formula that is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import quantus
import torch
from torch import Tensor

from common import Record
from unmask import api, seeds
from unmask.audit import curves, stability
from unmask.audit.people import token_scores
from unmask.audit.subjects import Settings, assemble
from unmask.data import load
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Explanation

SEED, K, ROWS, DRAWS = 0, 8, 100, 10
PLAIN = {"abs": False, "normalise": False, "disable_warnings": True, "display_progressbar": False}


def furthest(ours: Any, theirs: Any) -> dict[str, float]:
    """The largest difference, and the largest value to compare it with."""
    a, b = (np.asarray(v, dtype=float) for v in (ours, theirs))
    assert a.shape == b.shape
    return {"largest difference": float(np.abs(a - b).max()), "largest value": float(np.abs(b).max()), "values": a.size}


class Setting:
    """A model, rows, their explanation, and the same in the arrays that Quantus takes."""

    def __init__(self) -> None:
        self.data: Dataset = load("digits", seed=SEED)
        self.model: Wrapped = api.train_model(self.data, seed=SEED)
        self.explainer = api.fit(self.model, self.data, K, method="integrated-gradients", removal="zero", seed=SEED)
        settings = Settings(k=K, n=ROWS, removal="zero", seed=SEED, pool=200)
        self.case = assemble(self.model, self.data, {"ig": self.explainer}, settings)
        self.subject = self.case.subjects[0]
        self.explanation: Explanation = self.subject.explanation
        self.arrays = {
            "x_batch": self.case.x.numpy(),
            "y_batch": self.case.target.numpy(),
            "a_batch": self.explanation.scores.view_as(self.case.x).numpy(),
        }

    def theirs(self, metric: Any, **more: Any) -> Any:
        return metric(model=self.model.module, device="cpu", softmax=True, batch_size=ROWS, **{**self.arrays, **more})


def pixel_flipping(s: Setting) -> dict[str, float]:
    """p(target) after the best units are set to zero: every tenth point of our deletion curve."""
    curve = curves.deletion(s.case, s.subject).curve
    d = s.case.valid.shape[1]
    steps = s.theirs(quantus.PixelFlipping(features_in_step=1, perturb_baseline="black", **PLAIN))
    hidden = {share: int(np.ceil(share * d - 1e-9)) for share in curve if share > 0}
    ours = torch.stack([curve[share] for share in hidden], 1)
    return furthest(ours, np.asarray(steps)[:, [many - 1 for many in hidden.values()]])


def complexity(s: Setting) -> dict[str, float]:
    """Entropy of |score| / sum |scores|; ours is divided by log d."""
    ours = stability.score_entropy(s.case, s.subject).values * np.log(s.case.valid.shape[1])
    return furthest(ours, s.theirs(quantus.Complexity(**{**PLAIN, "abs": True})))


def precision(s: Setting, metric: Any, k: Tensor, marked: Tensor) -> dict[str, float]:
    """Of the k best units, the share that is marked. Scores are drawn: among equal ones, as blank pixels have, the two
    libraries choose differently."""
    scores = torch.randn(marked.shape, generator=seeds.generator(SEED + 1))
    kept = subsets.topk(scores, k, s.case.valid)
    arrays = {"a_batch": scores.view_as(s.case.x).numpy(), "s_batch": marked.view_as(s.case.x).numpy()}
    return furthest(token_scores(kept, marked)[0], s.theirs(metric, **arrays))


def max_sensitivity(s: Setting) -> dict[str, float]:
    """The largest change of the scores over the same draws, relative to their norm."""
    rng = seeds.generator(SEED)
    noise = 0.1 * torch.randn((DRAWS, *s.case.x.shape), generator=rng)
    explain = lambda x: s.explainer.explain(x, s.case.target).scores  # noqa: E731
    clean = explain(s.case.x)
    ours, _ = stability.changes(clean, (explain(s.case.x + eps) for eps in noise))
    draws = iter(noise.numpy())
    theirs = quantus.MaxSensitivity(
        nr_samples=DRAWS,
        perturb_func=lambda arr, **_: arr + next(draws).reshape(arr.shape),
        perturb_func_kwargs={},
        **PLAIN,
    )
    shape = s.case.x.shape
    say = lambda model, inputs, targets, **_: explain(torch.as_tensor(inputs)).view(shape).numpy()  # noqa: E731
    return furthest(ours, s.theirs(theirs, explain_func=say))


def main() -> None:
    record = Record("quantus")
    s = Setting()
    marked = torch.rand(s.case.valid.shape, generator=seeds.generator(SEED)) < 0.2
    k = torch.full((ROWS,), K)
    for name, work in {
        "pixel flipping": lambda: pixel_flipping(s),
        "complexity": lambda: complexity(s),
        "relevance rank accuracy": lambda: precision(s, quantus.RelevanceRankAccuracy(**PLAIN), marked.sum(1), marked),
        "top-k intersection": lambda: precision(s, quantus.TopKIntersection(k=K, **PLAIN), k, marked),
        "max-sensitivity": lambda: max_sensitivity(s),
    }.items():
        record.entry(name, work)
    record.summary = {
        "quantus": quantus.__version__,
        "largest difference": max(entry["largest difference"] for entry in record.entries.values()),
    }
    record.save()
    print(record.entries, record.summary)


if __name__ == "__main__":
    main()
