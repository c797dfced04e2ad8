"""LIME: "Why Should I Trust You?", Ribeiro et al. 2016; and what it shares with others that fit a line to masked rows.

Rows of one length share their masks, which come from the seed and that length alone: a row is explained the same in any
company, and one matrix is inverted for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.masking import subsets
from unmask.models import shown
from unmask.task import Task, begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["LIME", "answers", "by_length", "check_samples", "least_squares"]

CALLS = 16_384  # rows given to the model at once
FAINT = 1e-10  # of the largest eigenvalue: answers have seven digits, what they say of weaker directions is rounding


@dataclass
class LIME:
    """Ridge regression of p(target | x shown where z = 1) on z in {0, 1}^d; scores are its coefficients.

    Masks z weigh sqrt(exp(-D(z, 1)^2 / sigma^2)), root included as in the reference package. Where `law`, `distance` or
    `sigma` is None it is that package's. Law: for texts "lime-text" (a uniform number of units goes), else "bernoulli"
    (each unit goes with probability 1/2). Distance: "euclidean" with sigma 0.75 sqrt(d) for tables, else "cosine" in
    hundredths with sigma 25. `origin` tells the R^2 of the local fits, mean and worst: where it is low, no line fits.
    """

    k: int
    samples: int = 1000
    law: Literal["lime-text", "bernoulli"] | None = None
    distance: Literal["cosine", "euclidean"] | None = None
    sigma: float | None = None
    alpha: float = 1.0
    seed: int = 0
    removal: str | None = None
    readings_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "lime"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if self.law not in (None, "lime-text", "bernoulli"):
            raise InputError(f"law must be lime-text or bernoulli, got {self.law!r}")
        if self.distance not in (None, "cosine", "euclidean"):
            raise InputError(f"distance must be cosine or euclidean, got {self.distance!r}")
        if self.sigma is not None and not self.sigma > 0:
            raise InputError(f"sigma must be above 0, got {self.sigma}")
        if not self.alpha >= 0:
            raise InputError(f"alpha must be 0 or above, got {self.alpha}")

    def fit(self, model: Any, data: Dataset) -> LIME:
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        layout = self.task_.reader.layout
        law = self.law or ("lime-text" if layout.is_text else "bernoulli")
        distance = self.distance or ("euclidean" if layout.kind == "table" else "cosine")
        scores, fits = torch.zeros(valid.shape), torch.zeros(len(valid))
        for length, rows in by_length(valid):
            z = self._draw(law, length)
            y = answers(self.task_, rows_of(x, rows), target[rows], z)
            found, fit = _ridge(z.double(), self._weights(distance, z.double()), y, self.alpha)
            scores[rows, :length], fits[rows] = found.float(), fit.float()
        worst = float(fits.min()) if len(fits) else float("nan")
        self.readings_ = {"law": law, "distance": distance, "r2": float(fits.mean()), "r2_worst": worst}
        return scores

    def _draw(self, law: str, length: int) -> Tensor:
        """(samples, length) masks, of which the first shows everything."""
        rng = seeds.generator(seeds.derive(self.seed, self.method, length))
        every = torch.ones(self.samples, length, dtype=torch.bool)
        drawn = subsets.bernoulli(every[1:], 0.5, rng) if law == "bernoulli" else ~subsets.any_size(every[1:], rng)
        return torch.cat([every[:1], drawn])

    def _weights(self, distance: str, z: Tensor) -> Tensor:
        gone, d = (1 - z).sum(1), z.shape[1]
        apart = gone.sqrt() if distance == "euclidean" else 100 * (1 - z.mean(1).sqrt())
        sigma = self.sigma or (0.75 * d**0.5 if distance == "euclidean" else 25.0)
        return torch.exp(-((apart / sigma) ** 2)).sqrt()


def _ridge(z: Tensor, w: Tensor, y: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """(n, d) coefficients beside a free intercept, and (n,) the weighted R^2; an answer that never moves is fitted."""
    share = w / w.sum()
    z, y = z - share @ z, y - (y @ share)[:, None]
    b = least_squares(z, w, y, alpha)
    return b, 1 - (y - b @ z.T) ** 2 @ w / (y**2 @ w).clamp(min=1e-12)


def check_samples(samples: int) -> None:
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
        raise InputError(f"samples must be a whole number of at least 2, got {samples!r}")


def by_length(valid: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Each number of valid units that occurs, and the positions of the rows that have it."""
    lengths = valid.sum(1)
    for length in lengths.unique().tolist():
        yield length, (lengths == length).nonzero()[:, 0]


def answers(task: Task, x: Inputs, target: Tensor, z: Tensor) -> Tensor:
    """(n, m) p(target) of each of n rows when only the units of each of m masks `z` (m, d) are shown."""
    parts, m = [], len(z)
    for pair in torch.arange(len(x) * m).split(CALLS):  # every mask of every row, as one long list
        row, mask = pair // m, pair % m
        said = shown(task.ready(), task.removal, rows_of(x, row), z[mask])
        parts.append(said.gather(1, target[row, None])[:, 0])
    return torch.cat(parts).view(len(x), m).double()


def least_squares(a: Tensor, w: Tensor, y: Tensor, alpha: float = 0.0) -> Tensor:
    """(n, d) b with the least sum_i w_i (y_i - a_i b)^2 + alpha |b|^2, the shortest where there are several.

    `y` is (n, m), `w` (m,), and `a` (m, d) for all rows or (n, m, d) with one for each.
    """
    right = a.mT * w
    gram = right @ a + alpha * torch.eye(a.shape[-1], dtype=a.dtype)
    inverse: Tensor = torch.linalg.pinv(gram, rtol=FAINT, hermitian=True)
    return (inverse @ (right @ y[..., None]))[..., 0]
