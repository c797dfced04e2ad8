"""How everything is measured: seconds of a core, contestants in turns, medians; peak memory; rows a model is asked."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from unmask.models import Wrapped

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Seconds of a core: the cases have one thread, so that neighbours on the machine hardly count."""
    started = time.process_time()
    work()
    return time.process_time() - started


@dataclass(frozen=True)
class Times:
    """Seconds of each repetition."""

    each: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.each)

    def over(self, other: Times) -> float:
        """The median of the ratios, repetition by repetition."""
        return statistics.median(self.ratios(other))

    def ratios(self, other: Times) -> list[float]:
        """Repetition by repetition."""
        return [a / b for a, b in zip(self.each, other.each, strict=True)]

    def minus(self, other: Times) -> Times:
        """What is left of each repetition without the other."""
        return Times(tuple(a - b for a, b in zip(self.each, other.each, strict=True)))

    def columns(self, rows: int = 1) -> dict[str, str]:
        """Milliseconds for a row, and the spread, for a table."""
        ms = [1000 * t / rows for t in (self.median, min(self.each), max(self.each))]
        return {"ms": f"{ms[0]:.3g}", "spread": f"{ms[1]:.3g} to {ms[2]:.3g}"}


def in_turns(works: Mapping[str, Work], repeats: int) -> dict[str, Times]:
    """Each once to warm up, then all of them in turns, every second time from the last to the first.

    What slows the machine down slows all of them down, and who comes first finds the caches as the other left them.
    """
    for work in works.values():
        work()
    there, back = list(works.items()), list(works.items())[::-1]
    rounds = [{name: seconds(work) for name, work in (back if i % 2 else there)} for i in range(repeats)]
    return {name: Times(tuple(r[name] for r in rounds)) for name in works}


def bar(line: int, what: str, value: float, *, most: float | None = None, least: float | None = None) -> dict[str, Any]:
    """One requirement: the number, its limit, and whether it holds; `line` numbers the requirements."""
    met = (most is None or value <= most) and (least is None or value >= least)
    limit = f"at most {most:g}" if most is not None else f"at least {least:g}"
    return {"line": line, "what": what, "value": float(f"{value:.4g}"), "limit": limit, "met": met}


def exponent(sizes: list[float], times: list[float]) -> float:
    """The slope of log(times) over log(sizes), least squares."""
    x, y = (torch.tensor(v, dtype=torch.double).log() for v in (sizes, times))
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())


def memory(field: str) -> float:
    """MB (10^6 bytes) of this process: VmRSS is what it holds now, VmHWM the most it ever held (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def peak(work: Work) -> float:
    """MB that `work` takes at most on top of what is held before it."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = memory("VmRSS")
    work()
    return memory("VmHWM") - before


@dataclass
class Heard:
    """What a model was asked: how many rows, in how many calls, and the rows themselves where they are kept."""

    rows: int = 0
    calls: int = 0
    kept: list[Any] | None = None
    sizes: list[int] = field(default_factory=list)  # rows of each of those calls


def listening(model: Wrapped, least: float = 0.0, keep: bool = False) -> tuple[Wrapped, Heard]:
    """The same model with its calls counted; each call takes `least` seconds of a core, if need be by waiting."""
    heard, call, feed = Heard(kept=[] if keep else None), model.call, model.feed

    def told(rows: Any) -> Any:
        if heard.kept is not None:
            heard.kept.append(rows)
        return feed(rows)

    def counted(fed: Any) -> Any:
        started = time.process_time()
        heard.rows += len(fed)
        heard.calls += 1
        answer = call(fed)
        while time.process_time() - started < least:
            pass
        return answer

    return replace(model, call=counted, feed=told), heard
