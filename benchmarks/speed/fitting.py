"""Fitting: an epoch of a learned explainer against an epoch of the model it explains, and against its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from speed import grounds
from speed.measuring import Times, bar, seconds
from unmask import heap, seeds
from unmask.explainers import cures
from unmask.masking.relax import DRAWS
from unmask.models import Wrapped
from unmask.reproduce.references import RECIPES
from unmask.training import fit_classifier
from unmask.types import Dataset

LIMITS = {"l2x": 3, "meed": 6, "mimic": 8}
K = 25


def epochs(small: bool) -> dict[str, Any]:
    """One epoch of each learned explainer on digits of MNIST against one epoch of the network it explains.

    That network is a plain one of torch, as users have it; the explainers' own keep channels last, which is faster.
    An epoch is all that the training loop does in it: steps of all players, and the readings on validation rows by
    which it chooses an epoch. Passes are counted while it runs, by network and by what is asked of it: an answer
    (forward), the slope of the mask (through), the slope of the weights (whole). After each
    epoch every kind of pass is timed by itself, nine times, and the median counts, so that an epoch and its passes are
    compared on a machine in the same state. The draw is no pass and stands beside them.

    Before the first epoch the model answers all rows once, MEED takes a slope of the model for each training row (its
    prior) and Mimic trains its judge; after the last one the readings are made. `all of a fit` has that, too: of a fit
    of one epoch it is a good part, of a usual one, with 15 to 40 epochs, less.
    """
    model, data = grounds.mnist(128 if small else 4000, 100)
    works = {}
    for name in grounds.LEARNED:
        counted = Epoch(count=Counter())
        explainer = run(name, model, data, counted)
        works[name] = Passes(counted.passes, _works(explainer, counted, model), explainer.recipe.batch)
    rounds = [_round(model, data, works, 2 if small else 9) for _ in range(1 if small else 3)]
    times = {name: Times(tuple(r[name] for r in rounds)) for name in rounds[0]}
    limits = LIMITS.items()
    bars = [bar(5, f"epoch of {n} over the model's", times[n].over(times["model"]), most=most) for n, most in limits]
    bars += [bar(5, f"epoch of {n} over its passes", times[n].over(times[f"{n}, passes"]), most=1.3) for n in LIMITS]
    over = {name: f"{t.over(times['model']):.2f}" for name, t in times.items()}
    rows = [{"epoch of": name, **t.columns(), "model's epochs": over[name]} for name, t in times.items()]
    return {"bars": bars, "tables": {"Milliseconds for an epoch": rows, "Passes": _listed(works)}}


@dataclass
class Epoch:
    """What is learned about one epoch: its seconds, the rows of each pass, and the networks with their names."""

    seconds: float = 0.0
    count: Counter[tuple[str, str]] | None = None  # (network, kind of pass) -> rows, while it is counted
    passes: Mapping[tuple[str, str], int] = field(default_factory=dict)  # the same when the epoch is over
    networks: dict[str, nn.Module] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)  # networks of the player whose turn it is


def run(name: str, model: Wrapped, data: Dataset, epoch: Epoch, k: int = K) -> Any:
    """The explainer, fitted for one epoch, the training loop watched."""
    honest = cures.minimize

    def watched(players: Any, *given: Any, score: Any, title: str) -> Any:
        if epoch.count is not None:
            players = _counted(score.explainer, model, players, epoch)
        found: list[Any] = []
        epoch.seconds = seconds(lambda: found.append(honest(players, *given, score=score, title=title)))
        epoch.passes, epoch.count = epoch.count or {}, None
        return found[0]

    cures.minimize = watched
    try:
        return grounds.fitted(name, model, data, k)
    finally:
        cures.minimize = honest


@dataclass
class Passes:
    """The passes of an epoch, and how each is made for one batch."""

    rows: Mapping[tuple[str, str], int]
    works: Mapping[tuple[str, str], Callable[[], object]]
    batch: int
    each: dict[tuple[str, str], list[float]] = field(default_factory=dict)  # seconds for a row, round by round

    def seconds(self, repeats: int) -> float:
        """Seconds of all of them, each timed by itself: the median of `repeats` after one to warm up."""
        for kind, work in self.works.items():
            with heap.kept():  # as in training
                work()
                row = Times(tuple(seconds(work) for _ in range(repeats))).median / self.batch
            self.each.setdefault(kind, []).append(row)
        return sum(rows * self.each[kind][-1] for kind, rows in self.rows.items())


def _round(model: Wrapped, data: Dataset, works: Mapping[str, Passes], repeats: int) -> dict[str, float]:
    """Seconds of an epoch of the model and of each explainer, and of the passes of each."""
    found = {"model": of_model(data)}
    for name in grounds.LEARNED:
        epoch = Epoch()
        fit = seconds(lambda name=name, epoch=epoch: run(name, model, data, epoch))
        found |= {name: epoch.seconds, f"{name}, passes": works[name].seconds(repeats)}
        found[f"{name}, all of a fit of one epoch"] = fit
    return found


def of_model(data: Dataset) -> float:
    """Seconds of an epoch of the explained network, trained anew."""
    net = grounds.network(data)
    train, held = ((split.x, split.y) for split in (data.train, data.validation))
    return seconds(lambda: fit_classifier(net, train, held, grounds.one_epoch(RECIPES["image"])))


def _counted(explainer: Any, model: Wrapped, players: Mapping[str, Any], epoch: Epoch) -> dict[str, Any]:
    """The players, their networks listened to."""
    judge = getattr(explainer, "judge_", None)
    names = ("selector_", "approximator_", "rest_")
    epoch.networks = {name: getattr(explainer, name) for name in names if hasattr(explainer, name)}
    epoch.networks |= {"the model": model.module} | ({} if judge is None else {"judge": judge.net})
    for name, net in epoch.networks.items():
        net.register_forward_hook(lambda net, _, out, name=name: _heard(epoch, name, net, out))

    def turn(module: nn.Module, loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def taken(*batch: Any) -> Tensor:
            epoch.own = {id(part) for part in module.modules()}
            return loss(*batch)

        return taken

    return {name: (module, turn(module, loss)) for name, (module, loss) in players.items()}


def _heard(epoch: Epoch, name: str, net: nn.Module, out: Tensor) -> None:
    kind = "forward" if not out.requires_grad else "whole" if id(net) in epoch.own else "through"
    if epoch.count is not None:
        epoch.count[name, kind] += len(out)


def _works(explainer: Any, epoch: Epoch, model: Wrapped) -> dict[tuple[str, str], Callable[[], object]]:
    """Each kind of pass that was counted, for a batch of training."""
    x = torch.rand(explainer.recipe.batch, *explainer.task_.reader.layout.shape)
    answer = model(x) if explainer.feedback else None
    given = {"selector_": answer}
    return {(name, kind): _pass(epoch.networks[name], kind, x, given.get(name), name) for name, kind in epoch.passes}


def _pass(net: nn.Module, kind: str, x: Tensor, answer: Tensor | None, name: str) -> Callable[[], object]:
    mask = torch.rand(len(x), x[0].numel()).requires_grad_(kind == "through")
    given = (x,) if name == "the model" else (x, None, answer) if name == "selector_" else (x, mask)
    wanted = [mask] if kind == "through" else list(net.parameters())
    learns = name not in ("the model", "judge") or kind == "through"

    def work() -> object:
        net.train(learns)
        with torch.set_grad_enabled(kind != "forward"):
            out = net(*given)
        return out if kind == "forward" else torch.autograd.grad(out.sum(), wanted, allow_unused=True)

    return work


def _listed(works: Mapping[str, Passes]) -> list[dict[str, Any]]:
    rows = []
    for name, passes in works.items():
        for (net, kind), many in passes.rows.items():
            ms = 1000 * Times(tuple(passes.each[net, kind])).median
            rows.append({"explainer": name, "network": net, "pass": kind, "rows": many, "ms a row": f"{ms:.3g}"})
        rows.append({"explainer": name, "network": "(draw)", "pass": "whole", "rows": "", "ms a row": _draw(name)})
    return rows


def _draw(name: str) -> str:
    """Milliseconds for a row of the relaxed draw and its slope, which is no pass and stands beside them."""
    explainer: Any = grounds.LEARNED[name](k=K)
    s, valid = torch.randn(explainer.recipe.batch, 784).requires_grad_(), torch.ones(1, 784, dtype=torch.bool)
    there, rng = valid.expand(len(s), -1), seeds.generator(0)
    draw = DRAWS[explainer.draw]
    work = lambda: torch.autograd.grad(draw(s, K, explainer.tau, rng, there).sum(), s)  # noqa: E731
    work()
    return f"{1000 * Times(tuple(seconds(work) for _ in range(5))).median / len(s):.3g}"
