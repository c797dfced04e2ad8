"""Growth: how the cost of learned explainers grows with rows, units, kept units and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speed import grounds
from speed.fitting import Epoch, of_model, run
from speed.measuring import bar, exponent, seconds
from speed.processes import part

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
    "d": [Size(height=h, width=w) for h, w in ((14, 14), (14, 28), (28, 28), (28, 56))],
    "k": [Size(height=28, width=28, k=k) for k in (10, 20, 40, 80)],
    "classes": [Size(classes=c) for c in (2, 4, 8, 16)],
}
SMALL: dict[str, list[Size]] = {"n": [Size(n=64), Size(n=128)]}


def exponents(small: bool) -> dict[str, Any]:
    """Rows (n), pixels (d), kept pixels (k) and classes doubled three times, everything else being the same.

    The exponent is the slope of the logarithm of the time: 1 is linear. Images are drawn at random; an epoch of fitting
    is that of the case `epoch`, explaining is of all training rows. Beside them the explained network itself, its epoch
    and a pass over the same rows: convolutions of larger images leave the caches of a processor, for it as for
    the explainers, whose networks are of the same kind.
    """
    bars, rows = [], []
    for what, sizes in (SMALL if small else GROWING).items():
        own: dict[str, float] = {}
        for name in (MODEL, *grounds.LEARNED):
            found = part("grow", "growing:times", what, name, small, keep=not small)
            for job, taken in found.items():
                slope = exponent([getattr(size, what) for size in sizes], taken)
                rows.append({"grows": what, "explainer": name, "job": job, "exponent": f"{slope:.2f}", **_ms(taken)})
                own.setdefault(job, slope)
                if name != MODEL and what != "classes":
                    bars.append(bar(6, f"{name}, {job}: exponent in {what}", slope, most=1 + TOLERANCE))
                if name != MODEL and what == "d":
                    more = slope - own[job]
                    bars.append(bar(6, f"{name}, {job}: exponent in d beyond the model's own", more, most=TOLERANCE))
    return {"bars": bars, "tables": {"Exponents, and milliseconds at each size": rows}}


def times(what: str, name: str, small: bool) -> dict[str, list[float]]:
    """Seconds at each size, of an epoch of this explainer (or of the model) and of explaining (or of a pass)."""
    taken = [_taken(name, size, 1 if small else 3) for size in (SMALL if small else GROWING)[what]]
    return {job: [t[job] for t in taken] for job in taken[0]}


def _ms(times: list[float]) -> Mapping[str, str]:
    return {f"size {i + 1}": f"{1000 * t:.0f}" for i, t in enumerate(times)}


def _taken(name: str, size: Size, repeats: int) -> dict[str, float]:
    """Seconds, the fewest of some runs."""
    model, data = grounds.drawn(size.n, size.height, size.width, size.classes)
    found: dict[str, list[float]] = {"an epoch": [], "explaining": []}
    for _ in range(repeats):
        if name == MODEL:
            found["an epoch"].append(of_model(data))
            found["explaining"].append(seconds(lambda: model(data.train.x)))
            continue
        epoch = Epoch()
        explainer = run(name, model, data, epoch, size.k)
        found["an epoch"].append(epoch.seconds)
        found["explaining"].append(seconds(lambda e=explainer: e.explain(data.train.x)))
    return {job: min(times) for job, times in found.items()}
