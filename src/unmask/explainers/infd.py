"""INFD: the explanation of least infidelity, "On the (In)fidelity and Sensitivity of Explanations", Yeh et al. 2019."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.explainers.lime import CALLS, answers, by_length, check_samples, least_squares
from unmask.masking import subsets
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs, rows_of

__all__ = ["INFD"]


@dataclass
class INFD:
    """Phi = pinv(sum I I^T) sum I df, df = p(target | x) - p(target | x - I): least E[(I . Phi - df)^2].

    `law` says how x is changed. "removal": a uniform number of random units is removed, I marks them, and scores are
    Phi. "noisy-baseline", for numbers: x - I is the row with everything removed, plus normal noise of `noise` times the
    training spread; scores are Phi (x - baseline), summed over the values of a unit. `origin` tells the infidelity left
    on the draws themselves, which flatters where they are not many more than the units.
    """

    k: int
    samples: int = 1000
    law: Literal["removal", "noisy-baseline"] = "removal"
    noise: float = 0.2
    seed: int = 0
    removal: str | None = None
    readings_: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "infd"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if self.law not in ("removal", "noisy-baseline"):
            raise InputError(f"law must be removal or noisy-baseline, got {self.law!r}")
        if not self.noise > 0:
            raise InputError(f"noise must be above 0, got {self.noise}")

    def fit(self, model: Any, data: Dataset) -> INFD:
        if self.law == "noisy-baseline" and data.layout.is_text:
            raise InputError(f"law 'noisy-baseline' is for numbers, the data are of kind {data.kind!r}; use 'removal'")
        self.task_ = begin(model, data, self.k, self.removal)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        scores, left = torch.zeros(valid.shape), torch.zeros(len(valid))
        if self.law == "removal":
            for length, rows in by_length(valid):
                scores[rows, :length], left[rows] = self._removed(rows_of(x, rows), target[rows], length)
        else:
            for rows in torch.arange(len(x)).split(max(1, CALLS // self.samples)):
                scores[rows], left[rows] = self._noisy(x[rows], target[rows])
        self.readings_ = {"infidelity": float(left.mean())}
        return scores

    def _removed(self, x: Inputs, target: Tensor, length: int) -> tuple[Tensor, Tensor]:
        every = torch.ones(self.samples, length, dtype=torch.bool)
        change = subsets.any_size(every, seeds.generator(seeds.derive(self.seed, self.method, length)))
        p = answers(self.task_, x, target, torch.cat([every[:1], ~change]))
        return _optimum(change.double(), p[:, :1] - p[:, 1:])

    def _noisy(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        model, reader, m = self.task_.ready(), self.task_.reader, self.samples
        rng = seeds.generator(seeds.derive(self.seed, self.method))
        noise = self.noise * torch.randn(m, *reader.layout.shape, generator=rng)  # the same for all rows
        nothing = torch.zeros_like(reader.layout.valid(x))
        base = torch.stack(list(self.task_.removal.versions(x, nothing)), 1)  # (n, versions, *shape), taken in turn
        noisy = base[:, torch.arange(m) % base.shape[1]] + reader.scale * noise  # (n, m, *shape), this is x - I
        p = model(noisy.flatten(0, 1)).view(len(x), m, -1)[torch.arange(len(x)), :, target]
        full = model(x).gather(1, target[:, None])
        change = ((x[:, None] - noisy) / reader.scale).nan_to_num()  # in units of the spread: columns weigh alike
        phi, left = _optimum(change.flatten(2).double(), (full - p).double())
        toward = ((x - base.mean(1)) / reader.scale).nan_to_num()
        return reader.layout.gather(phi.view_as(x) * toward), left


def _optimum(change: Tensor, df: Tensor) -> tuple[Tensor, Tensor]:
    """(n, d) Phi and (n,) its infidelity on these draws; `change` is (m, d) for all rows or (n, m, d), `df` (n, m)."""
    phi = least_squares(change, torch.ones(df.shape[1], dtype=df.dtype), df)
    left = ((change @ phi[..., None])[..., 0] - df) ** 2
    return phi.float(), left.mean(1).float()
