"""Models that answer through one attention vector, ours or yours, behind two calls.

`attend(x) -> (weights, states)` and `answer(states, weights) -> logits`. A module that has both methods is taken at its
word; of any other the name of the submodule whose output is the weights is needed, and that output is caught and
replaced while the module runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unmask import batches, seeds
from unmask.errors import InputError

__all__ = [
    "RADIUS",
    "Attentive",
    "Shift",
    "attentive",
    "embedding_of",
    "evaluating",
    "looked",
    "noise",
    "padding",
    "reach",
    "shaken",
    "sloping",
]

RADIUS = 0.05  # of the noise on word vectors under which attention should stand still, at most
SMALL = 0.125  # of the spread of a table's values: a pretrained transformer's vectors are as small as RADIUS itself
VALUES = 200_000  # ids that are read at once, at most: those of 512 rows of 400 words, which many networks read word by
# word
TRIED = 2  # rows on which it is seen which part reads them
EXACT = 1e-6  # how near the answer must be when a module's own weights are put back


@dataclass(frozen=True)
class Attentive:
    """`module` answers through the attention weights that `attention`, a part of it, gives out."""

    module: nn.Module
    attention: nn.Module
    hooked: bool = False

    def attend(self, x: Any) -> tuple[Tensor, Any]:
        """Weights (n, d) and what `answer` needs beside them."""
        if not self.hooked:
            found: tuple[Tensor, Any] = self.module.attend(x)  # type: ignore[operator]
            return found
        return self._caught(x)[1], x

    def answer(self, states: Any, weights: Tensor) -> Tensor:
        """Raw outputs when attention is `weights`."""
        if not self.hooked:
            found: Tensor = self.module.answer(states, weights)  # type: ignore[operator]
            return found
        handle = self.attention.register_forward_hook(lambda _m, _i, out: weights.view_as(out))
        try:
            given: Tensor = self.module(states)
        finally:
            handle.remove()
        return given

    def look(self, x: Any) -> tuple[Tensor, Tensor]:
        """Raw outputs and weights (n, d) of one and the same run: vectors that are moved at random move once."""
        if self.hooked:
            return self._caught(x)
        weights, states = self.attend(x)
        return self.answer(states, weights), weights

    def _caught(self, x: Any) -> tuple[Tensor, Tensor]:
        caught: list[Tensor] = []
        handle = self.attention.register_forward_hook(lambda _m, _i, out: caught.append(out))
        try:
            raw: Tensor = self.module(x)
        finally:
            handle.remove()
        return raw, _flat(_once(caught))

    @property
    def device(self) -> torch.device:
        """Where its rows must be."""
        return next((p.device for p in self.module.parameters()), torch.device("cpu"))

    def rest(self) -> list[nn.Parameter]:
        """The parameters that are not those of the attention."""
        own = {id(p) for p in self.attention.parameters()}
        return [p for p in self.module.parameters() if id(p) not in own]


def attentive(module: nn.Module, x: Any, name: str | None = None) -> Attentive:
    """The attention protocol of a module; `x` are a few rows as it reads them, to try it out.

    `name` is that of the submodule whose output is the weights, as in `dict(module.named_modules())`. Without a name
    the module itself must have `attend` and `answer`; its attribute `attention`, where it has one, is the part that is
    trained when only attention is.
    """
    if name is None:
        if not (hasattr(module, "attend") and hasattr(module, "answer")):
            raise InputError(
                f"{type(module).__name__} has no methods attend and answer; name the submodule that gives out the "
                f"attention weights, one of: {', '.join(n for n, _ in module.named_modules() if n)}"
            )
        part = getattr(module, "attention", None)
        found = Attentive(module, part if isinstance(part, nn.Module) else nn.Module())
    else:
        found = Attentive(module, _part(module, name), hooked=True)
    _check(found, x)
    return found


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; afterwards every part is in the mode it was in."""
    were = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was in were:
            part.training = was


@contextmanager
def sloping(module: nn.Module) -> Iterator[None]:
    """The same for gradients: cuDNN takes none through a recurrent network that is not training."""
    with evaluating(module), torch.backends.cudnn.flags(enabled=False):
        yield


def _check(found: Attentive, x: Any) -> None:
    """Put the module's own weights back: it must say the same."""
    with evaluating(found.module), torch.no_grad():
        weights, states = found.attend(x)
        if weights.ndim != 2 or bool((weights < -EXACT).any()):
            raise InputError(
                f"attention weights must be (rows, units) and not negative, got shape {tuple(weights.shape)}"
            )
        apart = (found.answer(states, weights) - found.module(x)).abs()
    if not bool((apart <= EXACT * 10).all()):
        raise InputError(
            f"putting the attention weights back changes the answer by {float(apart.max()):.2g}: they are used "
            "elsewhere too, or changed after the named module; name the module whose output is used as it is, and once"
        )


def _once(caught: list[Tensor]) -> Tensor:
    if len(caught) != 1 or not isinstance(caught[0], Tensor):
        raise InputError(
            f"the named attention module must run once and give out one tensor, it ran {len(caught)} times; "
            "name the module whose output is the weights"
        )
    return caught[0]


def _flat(weights: Tensor) -> Tensor:
    """(n, d), from (n, d, 1) or (n, 1, d) as well."""
    if weights.ndim == 3 and 1 in weights.shape[1:]:
        return weights.flatten(1)
    if weights.ndim != 2:
        raise InputError(
            f"the named module gives out a tensor of shape {tuple(weights.shape)}; attention weights are (rows, units)"
        )
    return weights


def looked(model: Attentive, x: Tensor, batch: int = 512) -> tuple[Tensor, Tensor]:
    """Raw outputs (n, classes) and attention (n, d) of all rows, in evaluation mode, without gradients."""
    with evaluating(model.module), torch.no_grad():
        parts = [model.look(rows.to(model.device)) for rows in x.split(batches.together(x, batch, VALUES))]
    raw, weights = zip(*parts, strict=True)
    return torch.cat(raw).cpu(), torch.cat(weights).cpu()


def padding(x: Tensor, valid: Tensor) -> Tensor:
    """The ids that stand only where there is no word."""
    words: Tensor
    others: Tensor
    words, others = x[valid].unique(), x[~valid].unique()
    return others[~torch.isin(others, words)]


def embedding_of(module: nn.Module, name: str | None = None, x: Tensor | None = None) -> nn.Module:
    """The part that turns ids into vectors: the one named, or the nn.Embedding there is.

    Of several, for places or types as well, it is the first that reads rows as they are, `x`; without `x` the first.
    """
    if name is not None:
        return _part(module, name)
    found = [part for part in module.modules() if isinstance(part, nn.Embedding)]
    if not found:
        raise _no_part(module, "nn.Embedding")
    if x is None or len(found) == 1:
        return found[0]
    few, fed = x[:TRIED].to(found[0].weight.device), list[nn.Module]()
    handles = [part.register_forward_pre_hook(lambda m, i: fed.append(m) if _is(i, few) else None) for part in found]
    try:
        with evaluating(module), torch.no_grad():
            module(few)
    finally:
        for handle in handles:
            handle.remove()
    return fed[0] if fed else found[0]


def _is(inputs: tuple[Any, ...], x: Tensor) -> bool:
    """Whether a part is given these rows."""
    return (
        bool(inputs) and isinstance(inputs[0], Tensor) and inputs[0].shape == x.shape and bool((inputs[0] == x).all())
    )


def _part(module: nn.Module, name: str) -> nn.Module:
    parts: dict[str, nn.Module] = dict(module.named_modules())
    if not name or name not in parts:
        raise _no_part(module, f"submodule {name!r}")
    return parts[name]


def _no_part(module: nn.Module, what: str) -> InputError:
    parts = ", ".join(name for name, _ in module.named_modules() if name)
    return InputError(f"{type(module).__name__} has no {what}; it has: {parts}")


class Shift:
    """Inside `with Shift(embedding, by)`, what the embedding gives out is moved: by a tensor, or by `by(vectors)`.

    Without `by` it is moved by `delta`, zeros that gradients can be taken of. The vectors of the ids `still` stay.
    """

    def __init__(
        self,
        embedding: nn.Module,
        by: Tensor | Callable[[Tensor], Tensor] | None = None,
        still: Tensor | None = None,
    ) -> None:
        self.embedding, self.by, self.still, self.delta = embedding, by, still, torch.empty(0)

    def __enter__(self) -> Shift:
        self._handle = self.embedding.register_forward_hook(self._moved)
        return self

    def __exit__(self, *why: object) -> None:
        self._handle.remove()

    def _moved(self, _module: nn.Module, inputs: Any, vectors: Tensor) -> Tensor:
        if self.by is None:
            self.delta = torch.zeros_like(vectors).requires_grad_()
            change = self.delta
        else:
            change = self.by(vectors) if callable(self.by) else self.by
        if self.still is not None and inputs and inputs[0].shape == vectors.shape[:-1]:
            change = change * ~torch.isin(inputs[0], self.still.to(inputs[0]))[..., None]
        return vectors + change


def noise(shape: torch.Size, radius: float, rng: torch.Generator) -> Tensor:
    """Uniform in [-radius, radius], on the generator's device."""
    return (2 * torch.rand(shape, generator=rng, device=rng.device) - 1) * radius


def reach(embedding: nn.Module) -> float:
    """How far noise moves a value of a word vector: RADIUS, or less where the vectors themselves are small."""
    table = getattr(embedding, "weight", None)
    return min(RADIUS, SMALL * float(table.detach().std())) if isinstance(table, Tensor) else RADIUS


def shaken(
    model: Attentive, x: Tensor, seed: int, radius: float | None = None, valid: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Raw answers and weights under uniform noise on word vectors: one draw, alike for every model with this seed.

    Where `valid` (n, d) is given, the vectors of what is no word stay.
    """
    rng, embedding = seeds.generator(seeds.derive(seed, "noise on vectors")), embedding_of(model.module, x=x)
    far = reach(embedding) if radius is None else radius
    still = None if valid is None else padding(x, valid)
    with Shift(embedding, lambda vectors: noise(vectors.shape, far, rng).to(vectors), still):
        return looked(model, x)
