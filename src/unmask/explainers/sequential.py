"""Sequential selection: the honest yardstick.

Each next unit is chosen from the values already shown, so the selection is a function of what it shows and cannot
encode anything else. The policy is trained greedily through a frozen judge, after "Learning to Maximize Mutual
Information for Dynamic Feature Selection", Covert et al. 2023.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask import devices, nets, saving, seeds
from unmask.judge import RECIPE, Rows, judge_net, mixed_sizes, train_judge
from unmask.masking import relax, subsets
from unmask.task import Task, begin, clone, explained
from unmask.training import Recipe, evaluate, minimize, soft_cross_entropy
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["Sequential"]

TIE = 1e-5  # what a place later in the row costs: above rounding, so that equal scores rank by position in any batch


@dataclass
class Sequential:
    """Scores are higher the earlier a unit was asked for; units never asked for score 0."""

    k: int
    tau: float = 1.0
    removal: str | None = None
    recipe: Recipe = Recipe(epochs=10, batch=128, rate=1e-3)
    device: str = "auto"
    method: ClassVar[str] = "sequential"
    aims: ClassVar[bool] = False
    clone = clone
    save = saving.save

    def build(self, task: Task) -> None:
        self.policy_ = nets.selector(task.reader, seed=seeds.derive(self.recipe.seed, "policy")).to(
            devices.pick(self.device)
        )

    def fit(self, model: Any, data: Dataset) -> Sequential:
        task = begin(model, data, self.k, self.removal)
        self.build(task)
        rows, held_out = (self._rows(task, split.x) for split in (data.train, data.validation))
        seed = seeds.derive(self.recipe.seed, "sequential judge")
        net, how = judge_net(task.reader, len(task.classes), seed), replace(RECIPE, seed=seed)
        judge = train_judge(net.to(devices.pick(self.device)), rows, held_out, mixed_sizes(self.k), how).net

        def score() -> float:
            shown = self._ask(held_out.x, held_out.valid)[0].float()
            return -float(soft_cross_entropy(evaluate(judge, held_out.x, shown), held_out.target).mean())

        players = {"policy": (self.policy_, self._loss(judge))}
        minimize(players, (rows.x, rows.target, rows.valid), self.recipe, score=score, title="sequential selection")
        self.task_ = task
        return self

    def _rows(self, task: Task, x: Inputs) -> Rows:
        prepared = task.reader.prepare(x)
        return Rows(prepared, task.ready()(x), task.reader.valid(prepared))

    def _loss(self, judge: nn.Module) -> Any:
        def loss(x: Tensor, p: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
            shown, total = torch.zeros(valid.shape, device=x.device), torch.zeros((), device=x.device)
            for _ in range(self.k):  # one more unit each time, asked for on the strength of what is shown
                left = valid & (shown == 0)
                asked = relax.k_hot(self.policy_(x, shown), 1, self.tau, rng, left)
                total = total + soft_cross_entropy(judge(x, shown + asked), p).mean()
                shown = torch.maximum(shown, subsets.topk(asked.detach(), 1, left).float())
            return total / self.k

        return loss

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        prepared = self.task_.reader.prepare(x)
        return self._ask(prepared, self.task_.reader.valid(prepared))[1]

    def _ask(self, x: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Which units are shown in the end, and scores k, k-1, ... in the order they were asked for."""
        shown, scores = torch.zeros_like(valid), torch.zeros(valid.shape)
        later = TIE * torch.arange(valid.shape[1])
        for turn in range(self.k):
            asked = subsets.topk(evaluate(self.policy_, x, shown.float()) - later, 1, valid & ~shown)
            shown, scores = shown | asked, scores + asked * float(self.k - turn)
        return shown, scores
