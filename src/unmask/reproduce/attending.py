"""One row of the shortcut demonstration: train attention on reviews, then see how right it is and where it looks."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import Tensor

from unmask import nets, seeds
from unmask.data import load
from unmask.data.vectors import glove
from unmask.models.attending import attentive, looked
from unmask.nets.reader import Reader
from unmask.nets.shortcut import ShortcutNet
from unmask.reproduce.attentive import REVIEWS
from unmask.reproduce.measuring import SCHEMES, Trial, percent
from unmask.reproduce.tables import Scale, made
from unmask.types import Dataset

__all__ = ["attended"]

UNSEEN = 1000  # reviews that nobody learns from; what attention alone tells about them is recorded


def attended(trial: Trial, cache: Path) -> dict[str, Any]:
    """Accuracy on the training rows and the share of attention on the constants, in per cent, and how the fit went."""
    started = time.perf_counter()
    data, reader, vectors = _reviews(trial.table.dataset, trial.seed, trial.scale)
    name, _, downstream = trial.row.partition("/")
    drawn = seeds.derive(trial.seed, "model")
    net = ShortcutNet(reader, len(data.classes), downstream, name != "none", vectors=vectors, seed=drawn)  # type: ignore[arg-type]
    method, settings = made(trial.row, trial.table, trial.scale, trial.seed)
    scheme = SCHEMES[method](**settings).fit(net, data)
    fitted = time.perf_counter() - started
    return {
        "key": trial.key,
        "values": _values(scheme.model_, data, name != "none", trial.seed),
        "readings": scheme.readings_,
        "curve": [],
        "n": len(data.train),
        "seconds": {"fit": round(fitted, 1), "all": round(time.perf_counter() - started, 1)},
    }


def _values(model: Any, data: Dataset, attention: bool, seed: int) -> dict[str, list[float]]:
    x = model.feed(data.train.x)
    raw, weights = looked(attentive(model.module, x[:4]), x)
    found = {"accuracy": percent((raw.argmax(1) == data.train.y).float(), seed)}
    return {**found, "constants": percent(model.module.constants(weights), seed)} if attention else found


@lru_cache(maxsize=1)
def _reviews(dataset: str, seed: int, scale: Scale) -> tuple[Dataset, Reader, Tensor]:
    """The training reviews (all but one, which a split needs), test reviews in place of validation, frozen vectors."""
    whole = load(dataset, seed=seed, rows=(REVIEWS[scale], 1, UNSEEN))
    data = replace(whole, validation=whole.test)  # no epoch is chosen
    reader = nets.read(data)
    assert isinstance(reader.vocabulary, nets.Vocabulary)
    return data, reader, glove(reader.vocabulary, seed)
