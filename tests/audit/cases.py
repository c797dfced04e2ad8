"""Small audits whose answers are known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import unmask
from unmask import seeds
from unmask.audit.case import Case, Pool, Subject
from unmask.audit.evidence import Evidence
from unmask.judge import Rows
from unmask.masking.removals import make_removal
from unmask.models import bind, wrap
from unmask.nets import read
from unmask.types import Dataset, Explanation, Inputs

W = torch.tensor([3.0, -2.0, 1.0, 0.5, 0.0, 0.0])


def linear(x: Tensor) -> Tensor:
    """Two classes, log-odds x @ W."""
    p = torch.sigmoid(torch.as_tensor(x) @ W)
    return torch.stack([1 - p, p], 1)


def table(n: int = 300, d: int = 6, seed: int = 0) -> Dataset:
    """Standard normal columns; the class is the sign of x @ W."""
    x = torch.randn(n, d, generator=seeds.generator(seed))
    return unmask.dataset(x, (x[:, :6] @ W > 0).long(), kind="table", seed=seed)


def explanation(case: Case, kept: Tensor) -> Explanation:
    return Explanation(kept.float(), kept, case.valid, case.target)


def subject(case: Case, kept: Tensor, name: str = "it") -> Subject:
    return Subject(name, explanation(case, kept))


KINDS = ("table", "image", "words", "sentences")


def planted(kind: str, n: int = 240) -> Dataset:
    """Rows of any kind whose class one unit tells: column or pixel 2 or 3, or a word or sentence at any place."""
    rng = seeds.generator(3)
    y, at = torch.randint(2, (n,), generator=rng), torch.randint(3, (n,), generator=rng).tolist()
    if kind in ("table", "image"):
        x = torch.rand(n, 9, generator=rng)
        x[torch.arange(n), 2 + y] += 1.5
        return unmask.dataset(x if kind == "table" else x.view(n, 1, 3, 3), y, kind=kind)
    rows: list[Inputs] = [[["the", "of", "it"][(i + j) % 3] for j in range(3 + i % 4)] for i in range(n)]
    for row, place, c in zip(rows, at, y.tolist(), strict=True):
        row[place] = ("good", "bad")[c]
    return unmask.dataset(rows if kind == "words" else [[[w] for w in row] for row in rows], y, kind=kind)


def everywhere(case: Case, choose: Any, name: str = "it") -> Subject:
    """A subject made by `choose(rows as they came, target, valid)` on the audited rows and on the pools."""

    def on(x: Inputs, full: Tensor) -> Explanation:
        valid, target = case.data.layout.valid(x), full.argmax(1)
        kept = choose(x, target, valid)
        return Explanation(kept.float(), kept, valid, target)

    others = {split: on(pool.split.x, pool.full) for split, pool in case.pools.items()}
    return Subject(name, on(case.x, case.full), **others)


def small_case(
    data: Dataset | None = None, removal: str = "zero", k: int = 2, seed: int = 0, model: Any = linear
) -> Case:
    """The test rows of `data` under the linear model, or another one."""
    data = data or table()
    model = bind(wrap(model), data)
    reader, split = read(data, removal), data.test
    full = model(split.x)

    def rows(name: str) -> Rows:
        x = reader.prepare(data[name].x)
        return Rows(x, model(data[name].x).argmax(1), reader.valid(x))

    return Case(
        model=model,
        data=data,
        removal=make_removal(removal, data),
        reader=reader,
        x=split.x,
        valid=split.valid,
        target=full.argmax(1),
        full=full,
        k=k,
        seed=seed,
        train=rows("train"),
        validation=rows("validation"),
        pools={name: Pool(data[name], model(data[name].x)) for name in ("train", "validation")},
    )


GOOD = Evidence(
    name="it",
    enough=(0.9, 0.4, 0.001),
    needed=(0.3, 0.9, 0.001),
    share=(0.1, 0.05),
    share_null=0.02,
    nats=(0.5, 0.1),
    reading=(0.8, 0.5, 0.2),
)
