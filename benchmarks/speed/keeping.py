"""Memory: training with freed blocks kept by the process, and with every block asked for anew."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

from speed import grounds
from speed.measuring import in_turns
from unmask import api, heap
from unmask.data import load
from unmask.types import Dataset


def memory_stays(small: bool) -> dict[str, Any]:
    """Two epochs of training the default network, freed memory kept between batches (`heap.kept`), and handed back.

    Nothing is computed differently. Each way is taken once to warm up: from then on the C library has the thresholds
    to which it adapts by itself.
    """
    n = 100 if small else 1000
    data = {
        "reviews of IMDB, up to 400 words": load("imdb", seed=0, rows=(n, 100, 100)),
        "digits of MNIST, 28 x 28": load("mnist", seed=0, rows=(n, 100, 100)),
        "images of 112 x 112, drawn": grounds.drawn(max(64, n // 8), 112, 112, 2)[1],
    }
    rows = []
    for name, each in data.items():
        times = in_turns({"kept": lambda d=each: _train(d, True), "handed back": lambda d=each: _train(d, False)}, 3)
        ms = {f"{way}, ms": f"{1000 * t.median:.3g}" for way, t in times.items()}
        ratios = times["kept"].ratios(times["handed back"])
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append({"data": name, **ms, "over": f"{times['kept'].over(times['handed back']):.2f}", "spread": spread})
    return {"bars": [], "tables": {"Training": rows}}


def _train(data: Dataset, kept: bool) -> None:
    with patch.object(heap, "kept", heap.kept if kept else nullcontext):
        api.train_model(data, recipe=grounds.SHORT)
