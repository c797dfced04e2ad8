"""What experiments stand on: a model, its data, the rows that are explained, and what was found out about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import torch
from torch import Tensor

from unmask import nets, seeds
from unmask.data import DATASETS, load
from unmask.methods import make
from unmask.models import Wrapped, bind, wrap
from unmask.reproduce.measuring import some
from unmask.reproduce.references import SIZES
from unmask.reproduce.tables import CLAIM_RECIPE, CLAIM_ROWS, Scale
from unmask.task import seeded
from unmask.training import fit_classifier
from unmask.types import Dataset, Explainer, Explanation

__all__ = ["Found", "Ground", "ground", "trained"]

T = TypeVar("T")
Found = dict[str, Tensor | tuple[float, float, float]]
"""metric -> one value for each row that was explained, or a number with its interval."""

HIDDEN = (128, 128)


@dataclass(frozen=True)
class Ground:
    """The rows `x` of the test split are explained, k units each, toward the class that the model predicts."""

    model: Wrapped
    data: Dataset
    x: Any
    y: Tensor
    k: int
    removal: str
    seed: int = 0
    memory: dict[Any, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def target(self) -> Tensor:
        return self.model(self.x).argmax(1)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """`make()` the first time, what it gave afterwards."""
        if key not in self.memory:
            self.memory[key] = make()
        found: T = self.memory[key]
        return found

    def make(self, method: str, settings: Mapping[str, Any] | None = None, removal: str | None = None) -> Any:
        """The method, unfitted, with this seed unless the settings name one."""
        return seeded(make(method, self.k, removal or self.removal, settings), (settings or {}).get("seed", self.seed))

    def explain(
        self, method: str, settings: Mapping[str, Any] | None = None, removal: str | None = None
    ) -> Explanation:
        """What a method says of the rows; the same question is asked once."""
        key = ("explained", method, tuple(sorted((settings or {}).items())), removal)
        return self.once(key, lambda: self.ask(self.make(method, settings, removal)))

    def ask(self, explainer: Explainer, model: Wrapped | None = None, data: Dataset | None = None) -> Explanation:
        """What an explainer says of the rows when it is fitted to this model, or to another one, on these data."""
        return explainer.fit(model or self.model, data or self.data).explain(self.x, self.target)


@lru_cache(maxsize=4)
def ground(dataset: str, k: int, removal: str, seed: int, scale: Scale, linear: bool = False) -> Ground:
    """The data, a network trained on them (a linear one where that is asked for), and the rows that are explained."""
    data = load(dataset, seed=seed, **_size(dataset, scale))
    rows = some(data.test, CLAIM_ROWS[scale], seed, "explained rows")
    return Ground(trained(data, removal, seed, linear), data, rows.x, rows.y, k, removal, seed)


def trained(data: Dataset, removal: str, seed: int, linear: bool = False) -> Wrapped:
    """A network for these data: a perceptron for tables and small pictures, else convolutions."""
    reader, drawn, classes = nets.read(data, removal), seeds.derive(seed, "model"), len(data.classes)
    flat = data.kind == "table" or data.layout.shape[-1] < 20
    if linear or flat:
        with seeds.seeded(drawn):
            net: torch.nn.Module = nets.TableNet(reader, classes, () if linear else HIDDEN)
    else:
        net = nets.default(reader, classes, "small", seed=drawn)
    train, held = ((reader.prepare(split.x), split.y) for split in (data.train, data.validation))
    fit_classifier(net, train, held, replace(CLAIM_RECIPE, seed=seed))
    return bind(wrap(net.eval(), removal=removal), data)


def _size(dataset: str, scale: Scale) -> dict[str, Any]:
    """Pictures as many as other tables have; tables are small, and taken whole."""
    source = DATASETS[dataset.partition(":")[0]]
    if source.kind != "image" or "rows" not in source.options:
        return {}
    return {"scale": scale} if scale == "paper" else {"rows": SIZES["image", scale]}
