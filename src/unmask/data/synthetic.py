"""Four tasks with ten columns whose deciding columns are known (Chen et al. 2018, Learning to Explain).

P(class 0 | x) = e^t / (1 + e^t); the logits t stand in `LOGITS`. Labels are drawn from that probability.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unmask import seeds
from unmask.data.layouts import table_layout
from unmask.data.splits import array_split, joined
from unmask.errors import InputError, unknown
from unmask.types import Dataset, Split

__all__ = ["LOGITS", "probabilities", "task"]

COLUMNS = tuple(f"x{i}" for i in range(1, 11))
HELD_OUT = 10_000  # rows of validation and of test
LOGITS = {
    "xor": "x1 x2",
    "orange": "x1^2 + x2^2 + x3^2 + x4^2 - 4",
    "additive": "-100 sin(0.2 x1) + |x2| + x3 + exp(-x4) - 2.4",
    "switch": "orange on x1..x4 where x10 > 0, else additive on x5..x8; x10 from N(3, 1) or N(-3, 1), evenly",
}


def task(name: str, seed: int, n: int = 100_000, legacy: bool = False) -> Dataset:
    """`n` training rows; `legacy` keeps the published fault of switch, where x1..x4 equal x5..x8 if x10 < 0."""
    if n < 1:
        raise InputError(f"n is the number of training rows and must be at least 1, got {n}")
    sizes = {"train": n, "validation": HELD_OUT, "test": HELD_OUT}
    parts = [_split(name, size, seeds.derive(seed, name, part), legacy) for part, size in sizes.items()]
    notes = {
        "source": "generated",
        "logit": LOGITS[name],
        "conditional": "P(class 0) = e^t / (1 + e^t)",
        "truth": "unmask.data.synthetic.probabilities",
        "legacy": legacy,
    }
    return joined(name, table_layout(COLUMNS), ("0", "1"), parts, notes)


def probabilities(name: str, x: Tensor, legacy: bool = False) -> Tensor:
    """The true P(class | x), (n, 2), of the task `name`.

    `legacy` switch reads x1..x4 on both sides, as the published labels were made before the columns were copied.
    """
    if name not in LOGITS:
        raise unknown("synthetic task", name, LOGITS)
    if x.ndim != 2 or x.shape[1] != len(COLUMNS):
        raise InputError(f"x must be (n, {len(COLUMNS)}), got {tuple(x.shape)}")
    t = _logit(name, x.double(), legacy)
    return torch.stack([t.sigmoid(), (-t).sigmoid()], dim=1).float()


def _logit(name: str, x: Tensor, legacy: bool) -> Tensor:
    if name == "xor":
        return x[:, 0] * x[:, 1]
    if name == "orange":
        return _orange(x[:, :4])
    if name == "additive":
        return _additive(x[:, :4])
    other = x[:, :4] if legacy else x[:, 4:8]
    return torch.where(x[:, 9] > 0, _orange(x[:, :4]), _additive(other))


def _orange(x: Tensor) -> Tensor:
    return x.square().sum(1) - 4


def _additive(x: Tensor) -> Tensor:
    return -100 * torch.sin(0.2 * x[:, 0]) + x[:, 1].abs() + x[:, 2] + torch.exp(-x[:, 3]) - 2.4


def _split(name: str, n: int, seed: int, legacy: bool) -> Split:
    rng = seeds.generator(seed)
    x = torch.randn(n, len(COLUMNS), generator=rng)
    if name == "switch":
        x[:, 9] += 6.0 * torch.randint(2, (n,), generator=rng) - 3
        if legacy:
            x[:, 4:8] = torch.where(x[:, 9:] > 0, x[:, 4:8], x[:, :4])
    y = (torch.rand(n, generator=rng) >= probabilities(name, x, legacy)[:, 0]).long()
    return array_split(x, y, table_layout(COLUMNS), _relevant(name, x))


def _relevant(name: str, x: Tensor) -> Tensor:
    kept = torch.zeros(x.shape, dtype=torch.bool)
    if name == "switch":
        upper = x[:, 9:] > 0
        kept[:, :4], kept[:, 4:8], kept[:, 9] = upper, ~upper, True
    else:
        kept[:, : 2 if name == "xor" else 4] = True
    return kept
