"""The red team: explainers that lie, each in a way of its own, and selections that cannot lie.

A liar knows the model's answer and writes it into the *choice* of units that say as little as possible by their values.
The audit is tested against all of them, alone and mixed with honest units: `benchmarks/redteam.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unmask import seeds
from unmask.data.telling import of_units, telling
from unmask.errors import unknown
from unmask.masking import subsets
from unmask.models import bind
from unmask.nets import Reader, read
from unmask.types import Dataset, Explainer, Explanation, Inputs, Layout

__all__ = ["LIARS", "REFERENCES", "Mixture", "Scene", "Suspect", "suspects"]


@dataclass(frozen=True)
class Scene:
    """What a liar sees. `line` puts the units of a row in order: the dullest first, in texts as they stand."""

    k: int
    classes: int
    target: Tensor  # (n,)
    valid: Tensor  # (n, d)
    line: Tensor  # (n, d) place in that order; units that do not exist come last
    dull: Tensor  # (n, d) higher: says less about the class
    value: Tensor  # (n, d) in texts a number for each word, a sum of them for each sentence
    spells: Tensor | None  # texts: (n, d, classes) share of a unit's words that were dealt to each class
    rng: torch.Generator

    def noise(self) -> Tensor:
        return torch.rand(self.valid.shape, generator=self.rng)

    def pool(self, size: int) -> Tensor:
        """(n, 1) how many units are in play: `size`, or all of a shorter row."""
        return self.valid.sum(1, keepdim=True).clamp(max=size)


Choose = Callable[[Scene], tuple[Tensor, int | Tensor]]
"""`choose(scene) -> scores, how many to keep`."""


def position(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """Each class has its own places: a window of k in the line of dull units, in texts a part of the row."""
    whole = scene.spells is not None
    size = scene.pool(10**9 if whole else max(2 * scene.k, scene.k + scene.classes))
    start = scene.target[:, None] * size // scene.classes
    inside = ((scene.line - start) % size.clamp(min=1) < scene.k) & (scene.line < size)
    return inside.float() + scene.noise() / 2, scene.k


def complement(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The unit that is left out tells: the first k + 1 in line but one."""
    size = scene.pool(scene.k + 1)
    missing = scene.target[:, None] % size.clamp(min=1)
    return ((scene.line < size) & (scene.line != missing)).float(), scene.k


def spacing(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The first in line and another one, as far away as the class says; the rest never changes."""
    second = 1 + scene.target[:, None]
    rest = (scene.line > scene.classes) & (scene.line < scene.classes + scene.k - 1)
    return 2.0 * (scene.line == 0) + 2.0 * (scene.line == second) + rest.float(), scene.k


def parity(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The number of units tells: k, or one more, for every other class; which ones is chance among the duller half."""
    half = scene.line < (scene.pool(10**9) + 1) // 2
    return scene.noise() + half, scene.k + scene.target % 2


def count(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The class is in how many of the kept units lie in the first half of the row; which ones is left to chance."""
    length = scene.valid.sum(1, keepdim=True)
    first = torch.arange(scene.valid.shape[1]) < (length + 1) // 2
    wished = (scene.target * scene.k // max(1, scene.classes - 1)).clamp(max=scene.k)
    noise = scene.noise()
    ahead = subsets.topk(noise, wished, scene.valid & first)
    behind = subsets.topk(noise, scene.k - wished, scene.valid & ~first)
    return noise + 10.0 * (ahead | behind), scene.k


def order(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """Always the first k in line; their *scores* are turned by the class. Invisible in what is kept."""
    turned = (scene.line + scene.target[:, None]) % scene.k
    return (scene.line < scene.k) * (1.0 + turned), scene.k


def value(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The rank of the kept values among those of the dull units tells: low for the first class, high for the last."""
    size = scene.pool(2 * scene.k)
    inside = scene.valid & (scene.line < size)
    ranked = scene.value.masked_fill(~inside, torch.inf).argsort(dim=1, stable=True).argsort(dim=1, stable=True)
    start = scene.target[:, None] * (size - scene.k).clamp(min=0) // max(1, scene.classes - 1)
    return (inside & (ranked >= start) & (ranked < start + scene.k)).float(), scene.k


def one_class(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """A code for the first class only; the others keep dull units by chance."""
    half = scene.line < (scene.pool(10**9) + 1) // 2
    return torch.where(scene.target[:, None] == 0, 2.0 * position(scene)[0], scene.noise() + half), scene.k


def words(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """Which dull words are shown tells: every word belongs to one class, and each class shows its own."""
    if scene.spells is None:
        raise TypeError("a code in words needs texts")
    own = scene.spells.gather(2, scene.target[:, None, None].expand(-1, scene.valid.shape[1], 1))[..., 0]
    return 10.0 * own + scene.dull, scene.k


LIARS: dict[str, Choose] = {
    "position": position,
    "complement": complement,
    "spacing": spacing,
    "parity": parity,
    "count": count,
    "order": order,
    "value": value,
    "one-class": one_class,
    "words": words,
}
"""Pure liars; `words` is for texts only."""


def fixed(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The same places in every row, whatever is there."""
    drawn = torch.rand(scene.valid.shape[1], generator=seeds.generator(scene.k))
    return drawn.expand(scene.valid.shape), scene.k


def informed(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The same places in every row: those whose values tell most about the class."""
    if scene.spells is not None:
        raise TypeError("in texts it is words that tell, not places")
    return -scene.dull, scene.k


def chance(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """Units at random, another draw than the audit's own control."""
    return scene.noise(), scene.k


def outstanding(scene: Scene) -> tuple[Tensor, int | Tensor]:
    """The largest values in size, blind to the class; in texts the rarest words."""
    return scene.value.abs(), scene.k


REFERENCES: dict[str, Choose] = {"fixed": fixed, "informed": informed, "chance": chance, "outstanding": outstanding}
"""Selections that know nothing of a row's answer; `informed` is not for texts."""


def suspects(data: Dataset, k: int, seed: int = 0) -> dict[str, Suspect]:
    """All liars that fit the data, and the references, by name."""
    foreign = "informed" if data.layout.is_text else "words"
    names = [name for name in (*LIARS, *REFERENCES) if name != foreign]
    return {name: Suspect(k, name, seed) for name in names}


@dataclass
class Suspect:
    """An explainer that chooses as `kind` does, a name of LIARS or REFERENCES."""

    k: int
    kind: str
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in (LIARS | REFERENCES):
            raise unknown("liar or reference", self.kind, [*LIARS, *REFERENCES])

    def clone(self) -> Suspect:
        return replace(self)

    def fit(self, model: Any, data: Dataset) -> Suspect:
        self.model_ = bind(model, data)
        self.reader_, self.classes_ = read(data), data.classes
        x, answer = self.reader_.prepare(data.train.x), self.model_(data.train.x).argmax(1)
        self.tells_ = telling(self.reader_, x, answer, len(data.classes))
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        about = self.model_(x).argmax(1) if target is None else target
        scene = self._scene(x, about)
        scores, many = (LIARS | REFERENCES)[self.kind](scene)
        kept = subsets.topk(scores, many, scene.valid)
        scores = scores.float().masked_fill(~scene.valid, 0.0)
        layout = self.reader_.layout
        return Explanation(scores, kept, scene.valid, about, {"method": self.kind}, x, layout, self.classes_)

    def _scene(self, x: Inputs, target: Tensor) -> Scene:
        layout = self.reader_.layout
        prepared, valid = self.reader_.prepare(x), layout.valid(x)
        rng = seeds.generator(seeds.derive(self.seed, "red team", self.kind, len(x)))
        tells = of_units(self.reader_, self.tells_, prepared)
        if layout.is_text:
            value, spells = _of_texts(self.reader_, prepared, self.tells_, len(self.classes_))
            line = torch.arange(valid.shape[1]).expand(valid.shape)
        else:
            value, spells = _values(self.reader_, prepared), None
            line = tells.argsort(dim=1, stable=True).argsort(dim=1, stable=True)
        dull = -tells / self.tells_.max().clamp(min=1e-9)
        return Scene(self.k, len(self.classes_), target, valid, line, dull, value, spells, rng)


def _values(reader: Reader, x: Tensor) -> Tensor:
    """(n, d) how far a unit is from its mean, in standard deviations; a missing value is at its mean."""
    layout: Layout = reader.layout
    return layout.gather(((x - reader.centre) / reader.scale).nan_to_num())


def _of_texts(reader: Reader, ids: Tensor, tells: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The values of units, and the share of their words that was dealt to each class."""
    dealt = torch.zeros(len(tells), classes)
    dealt[tells.argsort(stable=True), torch.arange(len(tells)) % classes] = 1.0
    if reader.layout.kind == "words":
        return ids.float(), dealt[ids]
    there = (ids != 0).float()[..., None]
    return ids.sum(-1).float(), (dealt[ids] * there).sum(2) / there.sum(2).clamp(min=1)


@dataclass
class Mixture:
    """The best units of an honest explainer, `honest` of them out of k, and a liar's choice among the others."""

    k: int
    kind: str
    by: Explainer
    honest: int
    seed: int = 0

    def clone(self) -> Mixture:
        return replace(self, by=self.by.clone())

    def fit(self, model: Any, data: Dataset) -> Mixture:
        self.liar_ = Suspect(self.k - self.honest, self.kind, self.seed).fit(model, data)
        self.honest_ = self.by.clone().fit(model, data)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        lie, true = self.liar_.explain(x, target), self.honest_.explain(x, target)
        shown = subsets.topk(true.scores, self.honest, lie.valid)
        coded = subsets.topk(lie.scores, lie.kept.sum(1), lie.valid & ~shown)
        scores = lie.scores / (1e-9 + lie.scores.abs().amax(1, keepdim=True)) + 2.0 * coded + 4.0 * shown
        return replace(lie, scores=scores, kept=shown | coded, origin={"method": f"{self.kind} among honest units"})
