"""Growth: how the cost of learned explainers grows with rows, units, kept units and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speed import grounds
from speed.fitting import Epoch, run
from speed.measuring import bar, exponent, seconds

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
    is that of the case `epoch`, explaining is of all training rows.
    """
    bars, rows = [], []
    for what, sizes in (SMALL if small else GROWING).items():
        for name in grounds.LEARNED:
            taken = [_taken(name, size, 1 if small else 3) for size in sizes]
            for job in ("an epoch", "explaining"):
                times = [t[job] for t in taken]
                slope = exponent([getattr(size, what) for size in sizes], times)
                rows.append({"grows": what, "explainer": name, "job": job, "exponent": f"{slope:.2f}", **_ms(times)})
                if what != "classes":
                    bars.append(bar(6, f"{name}, {job}: exponent in {what}", slope, most=1 + TOLERANCE))
    return {"bars": bars, "tables": {"Exponents, and milliseconds at each size": rows}}


def _ms(times: list[float]) -> Mapping[str, str]:
    return {f"size {i + 1}": f"{1000 * t:.0f}" for i, t in enumerate(times)}


def _taken(name: str, size: Size, repeats: int) -> dict[str, float]:
    """Seconds, the fewest of some runs."""
    model, data = grounds.drawn(size.n, size.height, size.width, size.classes)
    found: dict[str, list[float]] = {"an epoch": [], "explaining": []}
    for _ in range(repeats):
        epoch = Epoch()
        explainer = run(name, model, data, epoch, size.k)
        found["an epoch"].append(epoch.seconds)
        found["explaining"].append(seconds(lambda e=explainer: e.explain(data.train.x)))
    return {job: min(times) for job, times in found.items()}
