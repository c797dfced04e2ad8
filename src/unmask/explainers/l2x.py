"""L2X: "Learning to Explain: An Information-Theoretic Perspective on Model Interpretation", Chen et al. 2018.

Maximise I(x_S; y) over subsets S of k units by its variational bound E[ sum_c p_M(c|x) log q(c | x_S) ]: explainer and
approximator are trained together, with one loss, against the model's soft answer to the full input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from unmask import devices, nets, seeds
from unmask.errors import InputError
from unmask.explainers import saving
from unmask.explainers.task import Task, begin, clone, explained
from unmask.masking import relax, subsets
from unmask.training import Recipe, evaluate, minimize, soft_cross_entropy
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["L2X"]

DRAWS = {"k-hot": relax.k_hot, "gumbel-topk": relax.gumbel_topk}


@dataclass
class L2X:
    """`draw`: the paper's relaxed k-hot, or straight-through Gumbel top-k; `approximator` "bag": the paper's for words.

    `activation` is that of the perceptrons for tables: the paper takes SELU for two of its synthetic tasks. The epoch
    is chosen by how often the approximator, shown hard selections of validation rows, agrees with the model.
    """

    k: int
    tau: float = 0.5
    draw: Literal["k-hot", "gumbel-topk"] = "k-hot"
    approximator: Literal["default", "bag"] = "default"
    activation: Literal["relu", "selu"] = "relu"
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=15, batch=128, rate=1e-3, patience=5)
    device: str = "auto"
    method: ClassVar[str] = "l2x"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if self.draw not in DRAWS:
            raise InputError(f"draw must be one of {', '.join(DRAWS)}, got {self.draw!r}")
        if self.approximator not in ("default", "bag"):
            raise InputError(f"approximator must be default or bag, got {self.approximator!r}")
        if self.activation not in nets.ACTIVATIONS:
            raise InputError(f"activation must be one of {', '.join(nets.ACTIVATIONS)}, got {self.activation!r}")
        if not self.tau > 0:
            raise InputError(f"tau must be above 0, got {self.tau}")

    def build(self, task: Task) -> None:
        seed, classes = self.recipe.seed, len(task.classes)
        if self.approximator == "bag" and task.reader.layout.kind != "words":
            raise InputError(f"approximator 'bag' reads words, the data are of kind {task.reader.layout.kind!r}")
        with seeds.seeded(seeds.derive(seed, "approximator")):
            bag = nets.WordBag(task.reader, classes) if self.approximator == "bag" else None
        approximator = bag or nets.default(
            task.reader, classes, activation=self.activation, seed=seeds.derive(seed, "approximator")
        )
        selector = nets.selector(task.reader, activation=self.activation, seed=seeds.derive(seed, "selector"))
        self.selector_, self.approximator_ = (net.to(devices.pick(self.device)) for net in (selector, approximator))

    def fit(self, model: Any, data: Dataset) -> L2X:
        task = begin(model, data, self.k, self.removal)
        self.build(task)
        x, p = task.reader.prepare(data.train.x), task.ready()(data.train.x)
        held_x, held_y = task.reader.prepare(data.validation.x), task.ready()(data.validation.x).argmax(1)

        def agreement() -> float:
            return float((self._read(held_x, self._select(held_x)) == held_y).float().mean())

        both = nn.ModuleList([self.selector_, self.approximator_])
        rows = (x, p, task.reader.valid(x))
        self.history_ = minimize({"l2x": (both, self.loss)}, rows, self.recipe, score=agreement, title="L2X")
        self.task_ = task
        return self

    def loss(self, x: Tensor, p: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
        v = DRAWS[self.draw](self.selector_(x), self.k, self.tau, rng, valid)  # (b, d), relaxed
        return soft_cross_entropy(self.approximator_(x, v), p).mean()  # -sum_c p_c log q(c | x * v)

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores, lambda x, kept: self._read(self.task_.reader.prepare(x), kept))

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        return evaluate(self.selector_, self.task_.reader.prepare(x))

    def _select(self, x: Tensor) -> Tensor:
        return subsets.topk(evaluate(self.selector_, x), self.k, self.approximator_.reader.valid(x))  # type: ignore[union-attr,operator]

    def _read(self, x: Tensor, kept: Tensor) -> Tensor:
        return evaluate(self.approximator_, x, kept.float()).argmax(1)
