"""A2R, "Understanding Interlocking Dynamics of Cooperative Rationalization", Yu et al. 2021.

One law alpha over units is the attention of a soft predictor f_a, and the law of what the hard one f_r reads:

    f_r:             min  CE(y, f_r(x * z)) + lam JS(f_r, f_a)            z ~ alpha, or its largest units
    f_a, generator:  min  CE(y, f_a(x, alpha)) + lam JS(f_r, f_a)

Nothing of f_r's reaches the generator but through JS: the soft loss, convex where the hard one is concave, leads it out
of bad corners. Only f_r answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from unmask import distances, saving, seeds
from unmask.errors import InputError
from unmask.nets.bodies import Nets
from unmask.rationales import answering, building, choosing, draws, learning
from unmask.rationales.building import Batch
from unmask.rationales.networks import RationaleNet, built
from unmask.rationales.rnp import USUAL
from unmask.task import Task, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset, Inputs

__all__ = ["A2R"]


@dataclass
class A2R:
    """`k` units of each row, or a share. With `explore` None few units are drawn, explored at 0.2, and words are not:
    their best are taken.

    `anneal` lets lam grow from 0 in so many epochs. `form` "released" has what the authors' code optimises on
    sentences: symmetric KL instead of JS, and none of it for the generator (their turns and delayed REINFORCE are not).
    """

    k: int | float = 1
    lam: float = 1.0
    explore: float | None = None
    anneal: int = 0
    form: Literal["paper", "released"] = "paper"
    skew: int = 0
    nets: Nets = Nets()
    removal: str | None = None
    recipe: Recipe = USUAL
    device: str = "auto"
    method: ClassVar[str] = "a2r"
    clone = clone
    save = saving.save
    predict, told, approximated = answering.predict, answering.told, answering.approximated
    explain, model = answering.explain, answering.model

    def __post_init__(self) -> None:
        choosing.check(self)
        if self.form not in ("paper", "released") or self.anneal < 0:
            raise InputError(
                f"form must be paper or released, anneal not negative; got {self.form!r} and {self.anneal}"
            )

    def build(self, task: Task) -> None:
        seed = seeds.derive(self.recipe.seed, "rationale")
        chooser, teller = built(task.reader, len(task.classes), self.nets, seed, attends=True)
        self.net_ = building.placed(self, RationaleNet(chooser, teller, building.budget(self)))

    def fit(self, data: Dataset) -> A2R:
        lesson = learning.start(self, data)
        self._rate = (0.2 if data.kind != "words" else None) if self.explore is None else self.explore
        rows = len(lesson.train[0])
        self._steps, self._warm = 0, self.anneal * learning.sized(self.recipe, rows).steps(rows)
        players = {
            "predictor": (self.net_.teller, self._predicting),
            "generator": (self.net_.chooser, self._choosing),
        }
        learning.learn(self, lesson, players)
        return self

    def softly(self, x: Inputs) -> Tensor:
        """(n, classes) probabilities of f_a, which sees the whole rows: it leads, and never answers."""
        return answering.asked(self, x, _attended)

    def _both(self, batch: Batch, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of f_r on a rationale without slopes, and of f_a."""
        alpha = draws.explored(scores, batch.valid, 0.0)
        with torch.no_grad():
            if self._rate is None:
                kept = building.budget(self)(scores, batch.valid)[1].to(scores)
            else:
                kept = building.drawn_by(self, scores, batch, self._rate).kept
        return self.net_.teller(batch.x, kept), self.net_.teller.attended(batch.x, alpha)

    def _apart(self, hard: Tensor, soft: Tensor) -> Tensor:
        lam = self.lam if self._steps >= self._warm else self.lam * self._steps / self._warm
        between = distances.js_logits if self.form == "paper" else distances.two_way_kl_logits
        return lam * between(hard, soft)

    def _predicting(self, batch: Batch) -> Tensor:
        self._steps += 1
        with torch.no_grad():
            scores = self.net_.chooser(batch.x)
        hard, soft = self._both(batch, scores)
        own = soft_cross_entropy(hard, batch.y) + soft_cross_entropy(soft, batch.y)
        return (own + self._apart(hard, soft)).mean()

    def _choosing(self, batch: Batch) -> Tensor:
        hard, soft = self._both(batch, self.net_.chooser(batch.x))
        loss = soft_cross_entropy(soft, batch.y)
        return (loss + self._apart(hard.detach(), soft)).mean() if self.form == "paper" else loss.mean()


def _attended(net: RationaleNet, x: Tensor) -> Tensor:
    return net.teller.attended(x, draws.explored(net.chooser(x), net.reader.valid(x), 0.0))
