"""What a fit looks like from outside, epoch by epoch, and warnings in words while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.explainers.learned import Batch, Lesson, Part, drawn, scored, selected
from unmask.masking.subsets import counts
from unmask.models import shown
from unmask.training import evaluate, soft_cross_entropy
from unmask.types import rows_of
from unmask.weighting import unsound, weighed

__all__ = ["Watch", "warnings_of"]

ROWS = 1000  # validation rows looked at after each epoch
GAP = 0.10  # approximator ahead of the model by this much: what it reads is not what the model sees
SAME = 0.95  # of the rows keep the same units
FLAT, THIN = 0.5, 0.3  # highest value of a draw, and its sum over k, below which it is degenerate
W = "weighted "  # begins the names of readings of weighted rows
WEIGHT = "weights: "  # begins the names of readings of the weights themselves
PATIENT = 2  # epochs before anything is said: a fresh selector keeps the same units everywhere


def warnings_of(readings: Mapping[str, float]) -> list[str]:
    """What is wrong with a fit that has these readings, one sentence each."""
    said = []
    read, model = readings["approximator"], readings["fs-m"]
    if read - model > GAP:
        said.append(
            f"the approximator finds the answer in {read:.0%} of the selections, the model in {model:.0%}: the "
            "selection may be a code between the two networks (a shortcut); try Mimic, MEED or cure='pretraining'"
        )
    if readings["same units"] > SAME:
        said.append(f"the same units are kept in {readings['same units']:.0%} of the rows: the row hardly matters")
    elif readings["same places"] > SAME:
        where = f"{readings['same places']:.0%} of what is kept stands in the same few places"
        said.append(f"{where}: positions have collapsed")
    if readings["whole rows"] > 0.5:
        said.append(f"{readings['whole rows']:.0%} of the rows have no more than k units: there is nothing to select")
    elif readings.get("draw peak", 1.0) < FLAT:
        said.append(f"the relaxed draw is nearly flat (highest value {readings['draw peak']:.2f}): lower tau")
    elif readings.get("draw peak", 1.0) > 1.001:
        said.append(
            f"the relaxed draw is no share (highest value {readings['draw peak']:.0f}): units count many times over in "
            "training, and never when rows are explained; draw='k-hot' stays between 0 and 1"
        )
    elif readings.get("draw sum", 1.0) < THIN:
        said.append(f"the draw shows {readings['draw sum']:.0%} of k units, the others coincide: raise tau or lower k")
    return said + unsound(readings.get(f"{WEIGHT}mean", 1.0), " of the selections")


@dataclass
class Watch:
    """Called after each epoch as the score of `minimize`; `worth(readings)` is what the epoch is chosen by.

    Where rows are weighted, the approximator is worth what it reads of weighted rows. `weigh(rows, kept)` gives weights
    under the masks that rows are explained with, and whether the mask classifier is right: what selections give away.
    """

    explainer: Any
    lesson: Lesson
    worth: Callable[[Mapping[str, float]], float]
    voice: Callable[[str], None] = progress.warn
    weigh: Callable[[Part, Tensor], tuple[Tensor, Tensor]] | None = None
    curve: list[dict[str, float]] = field(default_factory=list)  # the readings of each epoch
    said: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        held, rng = self.lesson.held, seeds.generator(seeds.derive(self.explainer.recipe.seed, "watch"))
        index = torch.randperm(len(held.x), generator=rng)[:ROWS].sort().values
        self.part = Part(rows_of(held.raw, index), held.x[index], held.p[index], held.valid[index])

    def __call__(self) -> tuple[float, str]:
        found = self.readings()
        self.curve.append(found)
        if len(self.curve) >= PATIENT:
            self._say(found)
        own = {name.removeprefix(W): value for name, value in found.items() if name.startswith(W)}
        words = f"model {found['fs-m']:.0%} from what is kept, {found['fu-m']:.0%} from the rest"
        return self.worth({**found, **own}), words

    def finish(self) -> dict[str, Any]:
        """The readings of what was kept, with the warnings that still hold; they become part of `origin`."""
        found = self.readings()
        self._say(found)
        return {"readings": {name: round(value, 4) for name, value in found.items()}, "warnings": warnings_of(found)}

    def _say(self, found: Mapping[str, float]) -> None:
        for sentence in warnings_of(found):
            kind = "".join(c for c in sentence if not c.isdigit())  # its figures change from epoch to epoch
            if kind not in self.said:
                self.said.add(kind)
                self.voice(f"{self.explainer.method}: {sentence}")

    def readings(self) -> dict[str, float]:
        """Agreement of approximator and model, and how varied the selection and the draw are, on validation rows."""
        part, task = self.part, self.lesson.task
        kept, target = selected(self.explainer, part), part.p.argmax(1)
        read = evaluate(self.explainer.approximator_, part.x, kept.float())
        judge = getattr(self.explainer, "judge_", None)
        found = {} if judge is None else {"judge": _rate(judge.log_probabilities(part.x, kept).argmax(1) == target)}
        sides = {"fs-m": kept, "fu-m": part.valid & ~kept}
        model = {name: shown(task.ready(), task.removal, part.raw, mask).argmax(1) for name, mask in sides.items()}
        told = {"approximator": (read.argmax(1) == target).float(), "log-likelihood": -soft_cross_entropy(read, part.p)}
        by = {"": torch.ones(len(kept))}
        if self.weigh is not None:
            by[W], right = self.weigh(part, kept)
            found |= {f"{WEIGHT}{name}": value for name, value in weighed(by[W], right).items()}
        return {
            **{f"{way}{name}": float((w * v).sum() / w.sum()) for way, w in by.items() for name, v in told.items()},
            **{name: _rate(answer == target) for name, answer in model.items()},
            **found,
            **_variety(kept, part.valid, self.explainer.k),
            **self._draw(),
        }

    def _draw(self) -> dict[str, float]:
        if not hasattr(self.explainer, "draw"):  # decided unit by unit: how many have a chance above one half
            likely = (scored(self.explainer, self.part.x, self.part.p) > 0) & self.part.valid
            return {"units": float(likely.sum(1).float().mean())}
        rng = seeds.generator(0, next(self.explainer.selector_.parameters()).device)
        x, p, valid = (t[:128].to(rng.device) for t in (self.part.x, self.part.p, self.part.valid))
        with torch.no_grad():
            v = drawn(self.explainer, Batch(x, p, valid, rng))
        peak, total = v.amax(1).mean(), (v.sum(1) / counts(valid, self.explainer.k)).mean()
        return {"draw peak": float(peak), "draw sum": float(total)}


def _rate(right: Tensor) -> float:
    return float(right.float().mean())


def _variety(kept: Tensor, valid: Tensor, k: int) -> dict[str, float]:
    """Share of rows with the commonest mask, share of kept units in the k commonest places, rows without a choice."""
    if not bool((free := valid.sum(1) > k).any()):
        return {"same units": 0.0, "same places": 0.0, "whole rows": 1.0}
    _, times = kept[free].unique(dim=0, return_counts=True)
    uses = kept[free].sum(0)
    return {
        "same units": float(times.max() / free.sum()),
        "same places": float(uses.topk(min(k, len(uses))).values.sum() / uses.sum()),
        "whole rows": 1.0 - _rate(free),
    }
