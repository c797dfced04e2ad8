"""Growth: how the cost of learned explainers grows with rows, units, kept units and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speed import grounds
from speed.fitting import Epoch, of_model, run
from speed.measuring import bar, exponent, seconds
from speed.processes import part
from unmask.models import Wrapped
from unmask.types import Dataset

MODEL = "(the model)"  # whose pass stands beside explaining
TOLERANCE = 0.1  # of an exponent that is told from four sizes


@dataclass(frozen=True)
class Size:
    n: int = 512
    height: int = 14
    width: int = 14
    k: int = 10
    classes: int = 2

    @property
    def d(self) -> int:
        return self.height * self.width


GROWING: dict[str, list[Size]] = {
    "n": [Size(n=n) for n in (512, 1024, 2048, 4096)],
    "d": [Size(n=256, height=h, width=w) for h, w in ((28, 28), (28, 56), (56, 56), (56, 112))],
    "k": [Size(height=28, width=28, k=k) for k in (10, 20, 40, 80)],
    "classes": [Size(classes=c) for c in (2, 4, 8, 16)],
}
SMALL: dict[str, list[Size]] = {"n": [Size(n=64), Size(n=128)]}


def exponents(small: bool) -> dict[str, Any]:
    """Rows (n), pixels (d), kept pixels (k) and classes doubled three times, everything else being the same.

    The exponent is the slope of the logarithm of the time: 1 is linear. Images are drawn at random; an epoch of fitting
    is that of the case `epoch`, explaining is of all training rows. Times are the fewest of four rounds, in each of
    which all sizes have their turn. Beside them the explained network itself, its epoch and a pass over the same rows:
    its convolutions leave out the border, a larger part of small images than of large ones (three quarters of 28 by 28
    pixels are left, nine tenths of 56 by 112), so it grows by more than its pixels, and so do readers, which are of its
    kind. `last` is the exponent of the last doubling alone, and `beyond` by how much the exponent is above the model's.
    Linear is held to be met up to 1.1: a tenth is left to chance, of four sizes and of what else the machine does.
    """
    bars, rows = [], []
    for what, sizes in (SMALL if small else GROWING).items():
        own: dict[str, float] = {}
        for name in (MODEL, *grounds.LEARNED):
            found = part("grow", "growing:times", what, name, small, keep=not small)
            for job, taken in found.items():
                counts = [getattr(size, what) for size in sizes]
                slope, last = exponent(counts, taken), exponent(counts[-2:], taken[-2:])
                own.setdefault(job, slope)
                told = {"exponent": f"{slope:.2f}", "last": f"{last:.2f}", "beyond": f"{slope - own[job]:.2f}"}
                rows.append({"grows": what, "explainer": name, "job": job, **told, **_ms(taken)})
                if name != MODEL and what != "classes":
                    bars.append(bar(6, f"{name}, {job}: exponent in {what}", slope, most=1 + TOLERANCE))
    return {"bars": bars, "tables": {"Exponents, and milliseconds at each size": rows}}


def times(what: str, name: str, small: bool) -> dict[str, list[float]]:
    """Seconds at each size, of an epoch of this explainer (or of the model) and of explaining (or of a pass).

    The fewest of some rounds, in each of which all sizes have their turn: a machine that is slow for a while is slow
    for all of them.
    """
    sizes = (SMALL if small else GROWING)[what]
    made = [grounds.drawn(size.n, size.height, size.width, size.classes) for size in sizes]
    turns = [(model, data, size.k) for (model, data), size in zip(made, sizes, strict=True)]
    rounds = [[_taken(name, *turn) for turn in turns] for _ in range(1 if small else 4)]
    return {job: [min(r[i][job] for r in rounds) for i in range(len(sizes))] for job in rounds[0][0]}


def _ms(times: list[float]) -> Mapping[str, str]:
    return {f"size {i + 1}": f"{1000 * t:.0f}" for i, t in enumerate(times)}


def _taken(name: str, model: Wrapped, data: Dataset, k: int) -> dict[str, float]:
    if name == MODEL:
        return {"an epoch": of_model(data), "explaining": seconds(lambda: model(data.train.x))}
    epoch = Epoch()
    explainer = run(name, model, data, epoch, k)
    return {"an epoch": epoch.seconds, "explaining": seconds(lambda: explainer.explain(data.train.x))}
