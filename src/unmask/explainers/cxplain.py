"""CXPlain: "Causal Explanations for Model Interpretation under Uncertainty", Schwab & Karlen 2019.

What a unit is worth is what its absence costs: with the loss L = -log p(y),

    dE_i = max(L(y, M(x without i)) - L(y, M(x)), eps),      omega_i = dE_i / sum_j dE_j

A network with a softmax over the units learns these shares, min KL(omega || a(x)), and gives them in one pass. An
ensemble, each member on a bootstrap sample of the rows, also says how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from unmask import devices, nets, saving, seeds
from unmask.errors import InputError
from unmask.explainers.occlusion import without_each
from unmask.masking.relax import LARGE, log_softmax
from unmask.task import Task, as_inputs, begin, clone, explained
from unmask.training import Recipe, evaluate, minimize
from unmask.types import Dataset, Explanation, Inputs, Split, rows_of

__all__ = ["CXPlain", "shares"]

EPS = 1e-7  # the least a unit costs
HELD = 5  # one validation row is asked about for so many training rows


@dataclass
class CXPlain:
    """Scores are the mean shares of the `ensemble`; the reading "spread" is their mean deviation between members.

    `about` "model": what the model's class would lose; "data": the true label, as published, by which a mistake is
    explained as a mistake. The model is asked d + 1 times about each of at most `rows` training rows (None: all) and a
    fifth as many of validation. Published: Adam 1e-4.
    """

    k: int
    about: Literal["model", "data"] = "model"
    rows: int | None = 2000
    ensemble: int = 1
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=100, batch=64, rate=1e-3, patience=12)
    device: str = "auto"
    method: ClassVar[str] = "cxplain"
    aims: ClassVar[bool] = False
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.about not in ("model", "data"):
            raise InputError(f"about must be model or data, got {self.about!r}")
        for name, least in (("rows", 2), ("ensemble", 1)):
            value = getattr(self, name)
            if (value is not None or name == "ensemble") and (
                isinstance(value, bool) or not isinstance(value, int) or value < least
            ):
                raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")

    def build(self, task: Task) -> None:
        names = [seeds.derive(self.recipe.seed, "cxplain", i) for i in range(self.ensemble)]
        made = [nets.selector(task.reader, seed=seed) for seed in names]
        self.members_ = nn.ModuleList(made).to(devices.pick(self.device))

    def fit(self, model: Any, data: Dataset) -> CXPlain:
        task = begin(model, data, self.k, self.removal)
        self.build(task)
        rows = self._asked(task, data.train, self.rows)
        held = self._asked(task, data.validation, self.rows and -(-self.rows // HELD))
        self.history_ = [self._train(i, rows, held) for i in range(self.ensemble)]
        self.task_ = task
        if self.ensemble > 1:
            valid = held[2]
            self.readings_ = {
                "spread": round(float(self._shares(held[0], valid).std(0, correction=0)[valid].mean()), 6)
            }
        return self

    def _asked(self, task: Task, split: Split, most: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Some rows as networks read them, their omega, their valid units."""
        rng = seeds.generator(seeds.derive(self.recipe.seed, "cxplain rows"))
        index = torch.randperm(len(split.y), generator=rng)[:most].sort().values
        raw, x = rows_of(split.x, index), task.reader.prepare(rows_of(split.x, index))
        valid, answer = task.reader.valid(x), task.ready()(raw)
        y = split.y[index] if self.about == "data" else answer.argmax(1)
        return x, shares(task, raw, valid, answer, y), valid

    def _train(self, i: int, rows: tuple[Tensor, ...], held: tuple[Tensor, ...]) -> Any:
        """One member; of several, each has its own bootstrap sample."""
        seed, member = seeds.derive(self.recipe.seed, "member", i), self.members_[i]
        if self.ensemble > 1:
            again = torch.randint(len(rows[0]), (len(rows[0]),), generator=seeds.generator(seed))
            rows = tuple(t[again] for t in rows)

        def loss(x: Tensor, omega: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
            return _divergence(omega, member(x), valid).mean()

        def score() -> float:
            return -float(_divergence(held[1], evaluate(member, held[0]), held[2]).mean())

        recipe = replace(self.recipe, seed=seed)
        return minimize({"explainer": (member, loss)}, rows, recipe, score=score, title=self.method)

    def _shares(self, x: Tensor, valid: Tensor) -> Tensor:
        """(members, n, d) a(x)."""
        found = torch.stack([evaluate(member, x) for member in self.members_])
        return found.masked_fill(~valid, -LARGE).softmax(2) * valid

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, lambda x, valid, _: self._shares(self._prepared(x), valid).mean(0))

    def spread(self, x: Inputs) -> Tensor:
        """(n, d) how far the members disagree about each share: their standard deviation; 0 for a single one."""
        x = as_inputs(x, self.task_)
        return self._shares(self._prepared(x), self.task_.reader.layout.valid(x)).std(0, correction=0)

    def _prepared(self, x: Inputs) -> Tensor:
        return self.task_.reader.prepare(x)


def shares(task: Task, x: Inputs, valid: Tensor, answer: Tensor, y: Tensor) -> Tensor:
    """(n, d) omega, which sum to one over the valid units; `answer` is what the model says to the whole rows."""
    cost = torch.zeros(valid.shape)
    for r, j, said in without_each(task, x, valid):
        cost[r, j] = _loss(said, y[r]) - _loss(answer[r], y[r])
    cost = cost.clamp(min=EPS) * valid
    return cost / cost.sum(1, keepdim=True).clamp(min=EPS)


def _loss(p: Tensor, y: Tensor) -> Tensor:
    return -p.clamp(min=1e-12).log().gather(1, y[:, None])[:, 0]


def _divergence(omega: Tensor, scores: Tensor, valid: Tensor) -> Tensor:
    """(n,) KL(omega || softmax of the scores over the valid units)."""
    log_a = log_softmax(scores, valid)
    return (torch.xlogy(omega, omega) - omega * log_a).sum(1)
