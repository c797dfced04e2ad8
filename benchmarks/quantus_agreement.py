"""Quantus and this library on the same explanations: the metrics that both have, value by value.

    pip install quantus, then: python benchmarks/quantus_agreement.py --fresh

Integrated gradients of a network on digits; marks of relevant pixels are drawn at random, for digits have none. Where
the two define something differently, ours is turned into theirs by the formula that is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import quantus
import torch
from torch import Tensor, nn

from common import Record
from unmask import api, seeds
from unmask.audit import curves, stability
from unmask.audit.case import Case
from unmask.audit.people import token_scores
from unmask.audit.subjects import Settings, assemble
from unmask.data import load
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Explanation

SEED, K, ROWS, DRAWS = 0, 8, 100, 10
PLAIN = {"abs": False, "normalise": False, "disable_warnings": True, "display_progressbar": False}

Pair = tuple[Callable[[], Any], Callable[[], Any]]
"""Two ways to the same numbers: ours, theirs. Each can be taken again and starts from nothing."""


def furthest(pair: Pair) -> dict[str, float]:
    """The largest difference, and the largest value to compare it with."""
    a, b = (np.asarray(work(), dtype=float) for work in pair)
    assert a.shape == b.shape
    return {"largest difference": float(np.abs(a - b).max()), "largest value": float(np.abs(b).max()), "values": a.size}


class Setting:
    """A model, rows, their explanation, and the same in the arrays that Quantus takes."""

    def __init__(
        self, data: Dataset, model: Wrapped, k: int = K, rows: int = ROWS, method: str = "integrated-gradients"
    ) -> None:
        self.data, self.model = data, model
        self.explainer = api.fit(model, data, k, method=method, removal="zero", seed=SEED)
        settings = Settings(k=k, n=rows, removal="zero", seed=SEED, pool=200)
        self.case: Case = assemble(model, data, {"it": self.explainer}, settings)
        self.subject = self.case.subjects[0]
        self.explanation: Explanation = self.subject.explanation
        self.shape = self.case.x.shape if self.case.x.ndim > 2 else (rows, 1, self.case.x.shape[1])
        self.net = model.module if self.case.x.ndim > 2 else nn.Sequential(nn.Flatten(), model.module).eval()
        self.marked = torch.rand(self.case.valid.shape, generator=seeds.generator(SEED)) < 0.2
        self.marked[~self.marked.any(1), 0] = True
        self.arrays = {"x_batch": self.array(self.case.x), "a_batch": self.array(self.explanation.scores)}
        self.arrays["y_batch"] = self.case.target.numpy()

    def array(self, values: Tensor) -> Any:
        """Values over units as Quantus wants them: images, or rows of one channel."""
        return values.reshape(self.shape).numpy()

    def fresh(self) -> Case:
        """The case with nothing remembered."""
        return replace(self.case, memory={})

    def theirs(self, metric: Any, **more: Any) -> Any:
        size = len(self.case.target)
        return metric(model=self.net, device="cpu", softmax=True, batch_size=size, **{**self.arrays, **more})


def digits() -> Setting:
    data = load("digits", seed=SEED)
    return Setting(data, api.train_model(data, seed=SEED))


def pixel_flipping(s: Setting) -> Pair:
    """p(target) after the best units are set to zero: every tenth point of our deletion curve."""
    d = s.case.valid.shape[1]
    hidden = [int(np.ceil(share * d - 1e-9)) for share in curves.STEPS if share > 0]

    def ours() -> Tensor:
        curve = curves.deletion(s.fresh(), s.subject).curve
        return torch.stack([curve[share] for share in curves.STEPS if share > 0], 1)

    def theirs() -> Any:
        steps = s.theirs(quantus.PixelFlipping(features_in_step=1, perturb_baseline=0.0, **PLAIN))
        return np.asarray(steps)[:, [many - 1 for many in hidden]]

    return ours, theirs


def complexity(s: Setting) -> Pair:
    """Entropy of |score| / sum |scores|; ours is divided by log d."""
    log_d = np.log(s.case.valid.shape[1])
    return (
        lambda: stability.score_entropy(s.fresh(), s.subject).values * log_d,
        lambda: s.theirs(quantus.Complexity(**{**PLAIN, "abs": True})),
    )


def precision(s: Setting, metric: Any, k: Tensor) -> Pair:
    """Of the k best units, the share that is marked. Scores are drawn: among equal ones, as blank pixels have, the two
    libraries choose differently."""
    scores = torch.randn(s.marked.shape, generator=seeds.generator(SEED + 1))
    arrays = {"a_batch": s.array(scores), "s_batch": s.array(s.marked)}
    return (
        lambda: token_scores(subsets.topk(scores, k, s.case.valid), s.marked)[0],
        lambda: s.theirs(metric, **arrays),
    )


def rank_accuracy(s: Setting) -> Pair:
    """Of as many of the best units as are marked, the share that is marked."""
    return precision(s, quantus.RelevanceRankAccuracy(**PLAIN), s.marked.sum(1))


def top_k(s: Setting) -> Pair:
    """Of the k best units, the share that is marked."""
    return precision(s, quantus.TopKIntersection(k=s.case.k, **PLAIN), torch.full((len(s.marked),), s.case.k))


def max_sensitivity(s: Setting) -> Pair:
    """The largest change of the scores over the same draws, relative to their norm; both are given the first scores."""
    noise = 0.1 * torch.randn((DRAWS, *s.case.x.shape), generator=seeds.generator(SEED))
    explain = lambda x: s.explainer.explain(x, s.case.target).scores  # noqa: E731

    def ours() -> Tensor:
        return stability.changes(s.explanation.scores, (explain(s.case.x + eps) for eps in noise))[0]

    def theirs() -> Any:
        draws = iter(noise.numpy())
        metric = quantus.MaxSensitivity(
            nr_samples=DRAWS,
            perturb_func=lambda arr, **_: arr + next(draws).reshape(arr.shape),
            perturb_func_kwargs={},
            **PLAIN,
        )
        say = lambda model, inputs, targets, **_: s.array(explain(torch.as_tensor(inputs).view(s.case.x.shape)))  # noqa: E731
        return s.theirs(metric, explain_func=say)

    return ours, theirs


METRICS = {
    "pixel flipping": pixel_flipping,
    "complexity": complexity,
    "relevance rank accuracy": rank_accuracy,
    "top-k intersection": top_k,
    "max-sensitivity": max_sensitivity,
}


def main() -> None:
    record = Record("quantus")
    s = digits()
    for name, metric in METRICS.items():
        record.entry(name, lambda metric=metric: furthest(metric(s)))
    record.summary = {
        "quantus": quantus.__version__,
        "largest difference": max(entry["largest difference"] for entry in record.entries.values()),
    }
    record.save()
    print(record.entries, record.summary)


if __name__ == "__main__":
    main()
