"""SmoothGrad: "SmoothGrad: removing noise by adding noise", Smilkov et al. 2017."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unmask import saving, seeds
from unmask.errors import InputError
from unmask.explainers.attribution import layer_of, swept
from unmask.task import begin, clone, explained
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["SmoothGrad"]

PLACES = 4096  # of words that have noise of their own; those further on use it again
SENTENCE = 61  # places from the start of a sentence to that of the next


@dataclass
class SmoothGrad:
    """Mean over draws of d log p(target) / d (x + noise), signed as published, summed over a unit; of words its size.

    The spread of the noise is `noise` times the range (greatest less least) of an image, of each word vector, or for
    tables, whose columns have scales of their own, the training spread of the column. All rows get the same draws.
    `absolute` takes the size of the mean before it is summed, as the pictures of the paper do. Of word vectors it is
    always the size: their values have no direction in common, and before a layer norm slopes sum up to 0.
    """

    k: int
    draws: int = 50
    noise: float = 0.15
    absolute: bool = False
    seed: int = 0
    removal: str | None = None
    method: ClassVar[str] = "smoothgrad"
    clone = clone
    save = saving.save

    def __post_init__(self) -> None:
        if isinstance(self.draws, bool) or not isinstance(self.draws, int) or self.draws < 1:
            raise InputError(f"draws must be a whole number of at least 1, got {self.draws!r}")
        if not self.noise >= 0:
            raise InputError(f"noise must be 0 or above, got {self.noise}")

    def fit(self, model: Any, data: Dataset) -> SmoothGrad:
        self.task_ = begin(model, data, self.k, self.removal)
        layer_of(self.task_)
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        return explained(self, x, target, self._scores)

    def _scores(self, x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        def smooth(prepared: Tensor, goal: Tensor, layer: nn.Module | None) -> Tensor:
            rng = seeds.generator(seeds.derive(self.seed, self.method))
            total = self._slope(prepared, goal, layer, rng)
            for _ in range(self.draws - 1):
                total += self._slope(prepared, goal, layer, rng)
            return (total / self.draws).abs() if self.absolute or layer is not None else total / self.draws

        return swept(self.task_, x, valid.shape[1], target, smooth)

    def _slope(self, prepared: Tensor, goal: Tensor, layer: nn.Module | None, rng: torch.Generator) -> Tensor:
        """The gradient at one noisy copy of the rows, or of their word vectors where there is a `layer` of them."""
        leaves: list[Tensor] = []

        def shake(_module: nn.Module | None, _inputs: Any, values: Tensor) -> Tensor:
            noise = self._array_noise(values, rng) if layer is None else _vector_noise(prepared, values, rng)
            leaves.append((values + self.noise * noise).detach().requires_grad_())
            return leaves[-1]

        forward = self.task_.ready().log_probabilities
        if layer is None:
            said = forward(shake(None, None, prepared))
        else:
            hook = layer.register_forward_hook(shake)
            try:
                said = forward(prepared)
            finally:
                hook.remove()
        return torch.autograd.grad(said.gather(1, goal[:, None]).sum(), leaves[0])[0]

    def _array_noise(self, x: Tensor, rng: torch.Generator) -> Tensor:
        reader = self.task_.reader
        noise = torch.randn(reader.layout.shape, generator=rng).to(x.device)
        if reader.layout.kind == "table":
            return noise * reader.scale.to(x.device)
        return noise * (x.flatten(1).amax(1) - x.flatten(1).amin(1)).view(-1, *[1] * (x.ndim - 1))


def _vector_noise(prepared: Tensor, vectors: Tensor, rng: torch.Generator) -> Tensor:
    """Noise that depends on a word's place alone, not on how much padding follows; a vector of zeros gets none."""
    pool = torch.randn(PLACES, vectors.shape[-1], generator=rng)
    place = torch.arange(prepared.shape[-1])
    if prepared.ndim == 3:  # words of sentences
        place = place + SENTENCE * torch.arange(prepared.shape[1])[:, None]
    noise = pool[place % PLACES].to(vectors.device).expand(*prepared.shape, -1).reshape(vectors.shape)
    return noise * (vectors.amax(-1, keepdim=True) - vectors.amin(-1, keepdim=True))
