"""L2X: "Learning to Explain: An Information-Theoretic Perspective on Model Interpretation", Chen et al. 2018.

Maximise I(x_S; y) over subsets S of k units by its variational bound E[ sum_c p_M(c|x) log q(c | x_S) ]: explainer and
approximator are trained together, with one loss, against the model's soft answer to the full input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from unmask import nets, saving, seeds
from unmask.errors import InputError
from unmask.explainers import cures, learned
from unmask.explainers.learned import Batch
from unmask.masking.relax import DRAWS
from unmask.task import Task, approximated, clone
from unmask.training import Recipe, soft_cross_entropy
from unmask.types import Dataset

__all__ = ["L2X"]

EPOCHS = {"bound": "log-likelihood", "model": "fs-m"}  # what the epoch is chosen by


@dataclass
class L2X:
    """`draw`: the paper's relaxed k-hot, or straight-through Gumbel top-k; `approximator` "bag": the paper's for words.

    `activation` is that of the perceptrons for tables: the paper takes SELU for two of its synthetic tasks. The epoch
    is chosen on validation rows, shown through hard selections, by the bound itself or (`epoch` "model") by how often
    the model keeps its answer. `noise` "frozen": as in the released code for words, all batches share one draw of it.
    `feedback` gives the selector the model's answer, `cure` names a remedy against what that invites.
    """

    k: int
    tau: float = 0.5
    draw: Literal["k-hot", "soft-topk", "gumbel-topk", "noisy-logit-max"] = "k-hot"
    approximator: Literal["default", "bag"] = "default"
    activation: Literal["relu", "selu"] = "relu"
    epoch: Literal["bound", "model"] = "bound"
    noise: Literal["fresh", "frozen"] = "fresh"
    removal: str | None = None
    feedback: bool = False
    cure: str | None = None
    recipe: Recipe = Recipe(epochs=15, batch=128, rate=1e-3, patience=5)
    device: str = "auto"
    method: ClassVar[str] = "l2x"
    readers: ClassVar[dict[str, str]] = {"approximator_": "kept"}
    clone = clone
    approximated = approximated
    save = saving.save
    explain = learned.explain

    def __post_init__(self) -> None:
        learned.check(self)
        if self.approximator not in ("default", "bag"):
            raise InputError(f"approximator must be default or bag, got {self.approximator!r}")
        if self.epoch not in EPOCHS:
            raise InputError(f"epoch must be one of {', '.join(EPOCHS)}, got {self.epoch!r}")
        if self.noise not in ("fresh", "frozen"):
            raise InputError(f"noise must be fresh or frozen, got {self.noise!r}")

    def build(self, task: Task) -> None:
        alone = self.cure == "pretraining"  # the approximator is frozen: a lively selector has nobody to agree with
        self.selector_, self.approximator_ = learned.networks(self, task, lively=alone)
        if self.approximator != "bag":
            return
        if task.reader.layout.kind != "words":
            raise InputError(f"approximator 'bag' reads words, the data are of kind {task.reader.layout.kind!r}")
        with seeds.seeded(seeds.derive(self.recipe.seed, "approximator")):
            self.approximator_ = learned.placed(self, nets.WordBag(task.reader, len(task.classes)))

    def fit(self, model: Any, data: Dataset) -> L2X:
        lesson = learned.lesson(self, model, data)
        self.build(lesson.task)
        self.readings_ = cures.train(self, lesson, lambda found: found[EPOCHS[self.epoch]], together=True)
        return self

    def drawing(self, batch: Batch, scores: Tensor) -> Tensor:
        rng = batch.rng
        if self.noise == "frozen":
            rng = seeds.generator(seeds.derive(self.recipe.seed, "noise"), rng.device)
        return DRAWS[self.draw](scores, self.k, self.tau, rng, batch.valid)

    def choosing(self, batch: Batch, v: Tensor) -> Tensor:
        return soft_cross_entropy(self.approximator_(batch.x, v), batch.p)  # -sum_c p_c log q(c | x * v)
