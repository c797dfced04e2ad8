"""One row about a claim of the lecture: its experiment on its data, each number with its interval."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from torch import Tensor

from unmask.reproduce.claims import deceived, experiment
from unmask.reproduce.claims.ground import Ground, ground
from unmask.reproduce.measuring import Trial, interval

__all__ = ["criticized"]

LINEAR = "linear-weights"  # this one is about a linear model


def criticized(trial: Trial, cache: Path) -> dict[str, Any]:
    """The metrics of the table, in its units; null where no row has a value."""
    started = time.perf_counter()
    at = _ground(trial)
    found = experiment(trial.table.name)(at, trial.row)
    right = float((at.model(at.data.test.x).argmax(1) == at.data.test.y).float().mean())
    return {
        "key": trial.key,
        "values": {name: _told(found[name], trial.seed) for name in trial.table.metrics if name in found},
        "n": len(at.x),
        "model accuracy": round(right, 4),
        "seconds": {"all": round(time.perf_counter() - started, 1)},
    }


def _ground(trial: Trial) -> Ground:
    table = trial.table
    if table.name == "deceptive-attention":
        return deceived.ground(table.k, trial.seed)
    return ground(table.dataset, table.k, table.removal, trial.seed, trial.scale, table.name == LINEAR)


def _told(values: Tensor | tuple[float, float, float], seed: int) -> list[float] | None:
    if isinstance(values, tuple):
        return None if any(v != v for v in values) else [float(f"{v:.6g}") for v in values]
    return None if bool(values.isnan().all()) else interval(values, seed)
