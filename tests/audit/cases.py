"""Small audits whose answers are known."""

from __future__ import annotations

import torch
from torch import Tensor

import unmask
from unmask import seeds
from unmask.audit.case import Case, Subject
from unmask.judge import Rows
from unmask.masking.removals import make_removal
from unmask.models import bind, wrap
from unmask.nets import read
from unmask.types import Dataset, Explanation

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


def small_case(data: Dataset | None = None, removal: str = "zero", k: int = 2, seed: int = 0) -> Case:
    """The test rows of `data` under the linear model."""
    data = data or table()
    model = bind(wrap(linear), data)
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
    )
