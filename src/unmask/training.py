"""The only training loop."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from unmask import batches, devices, heap, progress, seeds
from unmask.errors import InputError, TrainingError

__all__ = ["History", "Loss", "Recipe", "Score", "evaluate", "fit_classifier", "minimize", "soft_cross_entropy"]

Loss = Callable[..., Tensor]
"""`loss(*batch, rng) -> scalar`, the batch being the same rows of each training tensor."""

Score = Callable[[], float | tuple[float, str]]
"""How good the players are on validation rows, higher is better; with words for the progress bar where it has any."""

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": lambda p, lr, decay: torch.optim.Adam(p, lr=lr, eps=1e-7, weight_decay=decay),
    "adam-half": lambda p, lr, decay: torch.optim.Adam(p, lr=lr, betas=(0.5, 0.999), eps=1e-7, weight_decay=decay),
    "rmsprop": lambda p, lr, decay: torch.optim.RMSprop(p, lr=lr, alpha=0.9, eps=1e-7, weight_decay=decay),
    "adadelta": lambda p, lr, decay: torch.optim.Adadelta(p, lr=lr, rho=0.95, eps=1e-7, weight_decay=decay),
}  # the settings of the Keras originals


@dataclass(frozen=True)
class Recipe:
    """How to train. `rate` may name a rate for each player; training stops `patience` epochs after the best one.

    `fade` multiplies the rate after each epoch. With `average` above 0, what is scored and kept are running means of
    the parameters, step n moving them by 1 - average, or by 9 / (10 + n) while that is more. `precision` is "full" or,
    for graphics cards made for it, "mixed": products of networks in bfloat16.
    """

    epochs: int = 20
    batch: int = 128
    rate: float | Mapping[str, float] = 1e-3
    optimizer: str = "adam"
    decay: float = 0.0
    patience: int | None = None
    seed: int = 0
    fade: float = 1.0
    average: float = 0.0
    precision: str = "full"

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise InputError(f"a recipe needs at least 1 epoch and 1 row a batch, got {self.epochs} and {self.batch}")
        if self.optimizer not in OPTIMIZERS:
            raise InputError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, got {self.optimizer!r}")
        if self.precision not in devices.PRECISIONS:
            raise InputError(f"precision must be one of {', '.join(devices.PRECISIONS)}, got {self.precision!r}")
        if not 0 < self.fade <= 1 or not 0 <= self.average < 1:
            raise InputError(
                f"fade must be above 0 and at most 1, average from 0 to below 1; got {self.fade} and {self.average}"
            )

    def rate_of(self, player: str) -> float:
        """The player's rate; one whose name the mapping lacks learns at the highest there is."""
        if isinstance(self.rate, (int, float)):
            return self.rate
        return self.rate.get(player, max(self.rate.values()))

    def steps(self, rows: int) -> int:
        """Batches in one epoch over so many rows; a single row left over at the end is none."""
        return -(-rows // self.batch) - (rows % self.batch == 1 < min(self.batch, rows))


@dataclass
class History:
    """Mean loss of each player and validation score, epoch by epoch; `best` is the epoch that was kept."""

    losses: list[dict[str, float]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best: int = -1


def minimize(
    players: Mapping[str, tuple[nn.Module, Loss]],
    data: Sequence[Tensor],
    recipe: Recipe,
    *,
    score: Score | None = None,
    title: str = "training",
) -> History:
    """Step the named players in order on each batch, each step moving its own player only.

    `score` is read after each epoch with all players in evaluation mode, higher is better and on validation rows only;
    the whole state (parameters and buffers) of the best epoch is put back at the end, also after Ctrl-C.
    """
    modules = {name: module for name, (module, _) in players.items()}
    steppers = {
        n: OPTIMIZERS[recipe.optimizer](m.parameters(), recipe.rate_of(n), recipe.decay) for n, m in modules.items()
    }
    history = History()
    rng = seeds.generator(seeds.derive(recipe.seed, "minimize"), _device(modules))
    dropout = seeds.seeded(seeds.derive(recipe.seed, "dropout"))
    means = _Means(modules, steppers, recipe.average)
    with heap.kept(), dropout, progress.bar(title, recipe.epochs) as step, _Best(modules) as best:
        for epoch in range(recipe.epochs):
            history.losses.append(_epoch(players, steppers, data, recipe, rng, epoch))
            with means.in_place():
                words = best.offer(history, score)
            step(_note(history, words))
            _fade(steppers.values(), recipe.fade)
            if recipe.patience is not None and epoch - history.best >= recipe.patience:
                break
    return history


def _fade(steppers: Iterable[torch.optim.Optimizer], factor: float) -> None:
    for group in (g for stepper in steppers for g in stepper.param_groups):
        group["lr"] *= factor


class _Best:
    """The whole state of the best epoch so far; put back at the end, however the training ends."""

    def __init__(self, modules: Mapping[str, nn.Module]) -> None:
        self.modules, self.score = modules, -math.inf
        self.state = self._copy()

    def __enter__(self) -> _Best:
        return self

    def __exit__(self, *why: object) -> None:
        for name, module in self.modules.items():
            module.load_state_dict(self.state[name])
            module.eval()

    def _copy(self) -> dict[str, Any]:
        states = {name: module.state_dict() for name, module in self.modules.items()}
        return {
            name: {k: v.clone() if isinstance(v, Tensor) else deepcopy(v) for k, v in state.items()}
            for name, state in states.items()
        }

    def offer(self, history: History, score: Score | None) -> str:
        """Take the present state if it is the best; without a score the last epoch is. What the score has to say."""
        epoch, words = len(history.losses) - 1, ""
        for module in self.modules.values():
            module.eval()
        if score is not None:
            with torch.no_grad():
                found = score()
            value, words = found if isinstance(found, tuple) else (found, "")
            history.scores.append(float(value))
        if score is None or history.scores[-1] > self.score or history.best < 0:
            history.best, self.state = epoch, self._copy()
            self.score = history.scores[-1] if history.scores and not math.isnan(history.scores[-1]) else -math.inf
        return words


class _Means:
    """Running means of the parameters, moved after each step of their player; with rate 0 there are none."""

    def __init__(
        self, modules: Mapping[str, nn.Module], steppers: Mapping[str, torch.optim.Optimizer], rate: float
    ) -> None:
        self.pairs: list[tuple[Tensor, Tensor]] = []
        for name, module in modules.items() if rate else ():
            pairs = [(p, p.detach().clone()) for p in module.parameters()]
            self.pairs += pairs
            taken = itertools.count(1)
            steppers[name].register_step_post_hook(lambda *_, own=pairs, n=taken: self._move(own, rate, next(n)))

    def _move(self, pairs: Sequence[tuple[Tensor, Tensor]], rate: float, step: int) -> None:
        """Early on the mean is shorter, or it would remember the weights drawn at the start."""
        for p, mean in pairs:
            mean.lerp_(p.detach(), 1 - min(rate, (1 + step) / (10 + step)))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The means stand in the modules inside, the parameters themselves afterwards."""
        self._exchange()
        yield
        self._exchange()

    def _exchange(self) -> None:
        for p, mean in self.pairs:
            p.data, mean.data = mean.data.clone(), p.data.clone()


def _epoch(
    players: Mapping[str, tuple[nn.Module, Loss]],
    steppers: Mapping[str, torch.optim.Optimizer],
    data: Sequence[Tensor],
    recipe: Recipe,
    rng: torch.Generator,
    epoch: int,
) -> dict[str, float]:
    """One pass over the rows in a fresh order; the mean loss of each player."""
    totals = dict.fromkeys(players, 0.0)
    for index in batches.shuffled(data[0], recipe.batch, rng):
        batch = [tensor[index.to(tensor.device)].to(rng.device) for tensor in data]
        if len(index) == 1 < min(recipe.batch, len(data[0])):
            continue  # a single row left over at the end has no spread to normalise by
        for name, (module, loss) in players.items():
            with _turn(name, players), devices.mixed(rng.device, recipe.precision):
                value = loss(*batch, rng)
            totals[name] += _step(name, module, steppers[name], value, epoch) * len(index) / len(data[0])
    return totals


@contextmanager
def _turn(name: str, players: Mapping[str, tuple[nn.Module, Loss]]) -> Iterator[None]:
    """All players train (dropout on), but only the one whose turn it is may move its running statistics."""
    for module, _ in players.values():
        module.train()
    waiting = [m for other, (module, _) in players.items() if other != name for m in module.modules()]
    own = {id(m) for m in players[name][0].modules()}
    for module in waiting:
        if isinstance(module, _BatchNorm) and id(module) not in own:
            module.eval()
    yield


def _step(name: str, module: nn.Module, stepper: torch.optim.Optimizer, value: Tensor, epoch: int) -> float:
    loss = value.item()
    if not math.isfinite(loss):
        raise TrainingError(f"the loss of {name!r} became {loss} in epoch {epoch + 1}; lower the rate or check x")
    parameters = [p for p in module.parameters() if p.requires_grad]
    for p, grad in zip(parameters, torch.autograd.grad(value, parameters, allow_unused=True), strict=True):
        p.grad = grad
    stepper.step()
    stepper.zero_grad()
    return loss


def _device(modules: Mapping[str, nn.Module]) -> torch.device:
    return next((p.device for module in modules.values() for p in module.parameters()), torch.device("cpu"))


def _note(history: History, words: str) -> str:
    losses = ", ".join(f"{name} {value:.3f}" for name, value in history.losses[-1].items())
    scored = f"{losses}; validation {history.scores[-1]:.3f}" if history.scores else losses
    return f"{scored}; {words}" if words else scored


def soft_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """(n,) -sum_c p_c log q_c; `target` holds probabilities (n, classes) or class numbers (n,)."""
    return nn.functional.cross_entropy(logits, target, reduction="none")


def evaluate(net: nn.Module, *inputs: Tensor, batch: int = 512, steady: bool = False) -> Tensor:
    """Outputs of `net` in evaluation mode for all rows, in their order, batch by batch, without gradients.

    Where it must not matter to the last bit what else stands in the rows, batches are `steady`: not made by length.
    """
    net.eval()
    device = next(net.parameters()).device
    order = torch.arange(len(inputs[0])) if steady else batches.by_length(inputs[0])
    size = batch if steady or device.type != "cpu" else batches.together(inputs[0], batch)

    def read(part: slice) -> Tensor:
        return net(*(t[order[part]].to(device) for t in inputs)).cpu()  # type: ignore[no-any-return]

    with torch.no_grad(), devices.exact():
        parts, _ = batches.in_turn(read, max(1, len(order)), size)  # of no rows, too, it says how many outputs it has
    return torch.cat(parts)[order.argsort()]


def fit_classifier(
    net: nn.Module,
    rows: tuple[Tensor, Tensor],
    held_out: tuple[Tensor, Tensor],
    recipe: Recipe,
    title: str = "model",
) -> History:
    """Train `net` on whole inputs: `rows` are (x, target), the epoch is chosen on the log-likelihood of `held_out`."""

    def loss(x: Tensor, target: Tensor, rng: torch.Generator) -> Tensor:
        return soft_cross_entropy(net(x), target).mean()

    def score() -> float:
        return -float(soft_cross_entropy(evaluate(net, held_out[0]), held_out[1]).mean())

    return minimize({title: (net, loss)}, rows, recipe, score=score, title=f"training the {title}")
