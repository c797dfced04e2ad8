"""What is being audited: the rows, the model's answers (each input asked once), and the explanations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from unmask.judge import Rows
from unmask.models import shown
from unmask.nets import Reader
from unmask.types import Dataset, Explainer, Explanation, Inputs, Model, Removal, Split

__all__ = ["Case", "Pool", "Subject", "Values", "digest", "missing", "placed", "some"]

T = TypeVar("T")


@dataclass(frozen=True)
class Values:
    """One value for each example; with `over`, the number reported is mean(values) / mean(over).

    `parts` holds the same by something else ("explanation=l2x"), `curve` by the point of a curve; (n,) each.
    """

    values: Tensor  # (n,)
    over: Tensor | None = None
    note: str = ""
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    curve: Mapping[float, Tensor] = field(default_factory=dict)


def missing(case: Case, note: str) -> Values:
    """No value for any row, and why."""
    return Values(torch.full((len(case.target),), torch.nan), note=note)


def some(case: Case, most: int) -> Tensor:
    """Numbers of `most` rows at even distances, or of all: for checks that ask the model much about each."""
    n = len(case.target)
    return torch.linspace(0, n - 1, min(n, most)).round().long()


def placed(case: Case, index: Tensor, values: Tensor) -> Tensor:
    """(n,) values of the rows at `index`, nan for the others."""
    found = torch.full((len(case.target),), torch.nan)
    found[index] = values.float()
    return found


@dataclass(frozen=True)
class Pool:
    """Rows to learn from or to stop on, as they came, and what the model says of them."""

    split: Split
    full: Tensor  # (n, classes)


@dataclass(frozen=True)
class Subject:
    """One explanation on the audited rows and, where its explainer could be asked, on the judges' rows too."""

    name: str
    explanation: Explanation
    train: Explanation | None = None
    validation: Explanation | None = None
    spare: Rows | None = None  # rows of a ready-made explanation that are not audited: judges may learn from them
    spare_x: Inputs = None  # the same rows as they came
    seconds: float = float("nan")  # for one row
    calls: float = float("nan")  # rows the model was asked about, for one row
    explainer: Explainer | None = None  # None where the explanation came ready-made

    @property
    def kept(self) -> Tensor:
        return self.explanation.kept

    @property
    def by_chance(self) -> bool:
        """Whether it is the random control, or one of another explanation's own."""
        return self.name.partition(" like ")[0] == "random"

    @property
    def key(self) -> str:
        """A fingerprint of all its masks, so of what the judges learn from too."""
        others = (part.kept for part in (self.train, self.validation) if part is not None)
        spare = () if self.spare is None or self.spare.kept is None else (self.spare.kept,)
        return digest(self.kept, *others, *spare)


@dataclass(frozen=True)
class Case:
    """The audited rows of one task; what checks share is computed once and remembered here."""

    model: Model
    data: Dataset
    removal: Removal
    reader: Reader
    x: Inputs
    valid: Tensor
    target: Tensor
    full: Tensor  # (n, classes) the model's answer to the full rows
    k: int
    seed: int
    train: Rows  # prepared training rows with the model's answers as targets
    validation: Rows
    pools: Mapping[str, Pool] = field(default_factory=dict)  # the rows behind `train` and `validation`
    subjects: tuple[Subject, ...] = ()
    labels: Tensor | None = None  # (n,) the true classes of the audited rows
    relevant: Tensor | None = None  # (n, d) units that people marked, or that are known to decide
    memory: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """`make()` the first time, what it gave afterwards."""
        if key not in self.memory:
            self.memory[key] = make()
        found: T = self.memory[key]
        return found

    def shown(self, kept: Tensor) -> Tensor:
        """(n, classes) the model's answer when only the kept units are shown."""
        return self.once(("shown", digest(kept)), lambda: shown(self.model, self.removal, self.x, kept))

    @property
    def prepared(self) -> Tensor:
        """The audited rows as networks read them."""
        return self.once("prepared", lambda: self.reader.prepare(self.x))

    @property
    def said(self) -> Tensor:
        """(n,) the probability that the model gives the class that is explained, of the full rows."""
        return self.once("said", lambda: self.pick(self.full))

    def pick(self, probabilities: Tensor) -> Tensor:
        """(n,) the probability of the class that is explained."""
        return probabilities.gather(1, self.target[:, None])[:, 0]


def digest(*things: Inputs) -> str:
    """A short fingerprint: of tensors the values, shapes included; of texts and anything else what is written of it."""
    hashed = hashlib.blake2b(digest_size=12)
    for thing in things:
        if isinstance(thing, Tensor):
            hashed.update(str(tuple(thing.shape)).encode())
            flat = thing.detach().cpu().contiguous().flatten()
            hashed.update(flat.view(torch.uint8).numpy().data)  # read where it lies: no copy is made
        else:
            hashed.update(repr(thing).encode())
    return hashed.hexdigest()
