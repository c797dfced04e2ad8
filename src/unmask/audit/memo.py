"""What an audit has finished, on disk, so that one that was cut short goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Values
from unmask.masking import subsets
from unmask.models import shown
from unmask.types import Dataset, Model, Removal, rows_of
from unmask.writing import add_line

__all__ = ["Memo", "code", "marks"]

FEW = 200  # rows by whose answers a model is known again


@cache
def code() -> str:
    """A fingerprint of the package's own source: what other code found is no result of this one."""
    hashed = hashlib.blake2b(digest_size=12)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        hashed.update(file.read_bytes())
    return hashed.hexdigest()


def marks(model: Model, removal: Removal, data: Dataset) -> tuple[object, ...]:
    """By what a model and its data are known again: answers to rows, whole and half-hidden, and rows to learn from."""
    held = data.validation
    few = torch.arange(min(FEW, len(held)))
    x, valid = rows_of(held.x, few), held.valid[few]
    half = subsets.uniform(valid, (valid.sum(1) + 1) // 2, seeds.generator(0))
    return model(x), shown(model, removal, x, half), *(p for s in (data.train, held) for p in (s.x, s.y))


class Memo:
    """Values by key, one JSON line each, written as they come; without a path it remembers nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, tuple[Values, float]] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                key, values, over, note, seconds, parts, curve = json.loads(line)
            except ValueError:
                continue  # the line that was being written when the run was cut short
            found = Values(
                torch.tensor(values),
                None if over is None else torch.tensor(over),
                note,
                {name: torch.tensor(part) for name, part in parts},
                {at: torch.tensor(part) for at, part in curve},
            )
            self.known[key] = (found, seconds)

    def get(self, key: str) -> tuple[Values, float] | None:
        return self.known.get(key)

    def put(self, key: str, found: Values, seconds: float) -> None:
        if self.path is None or key in self.known:
            return
        over = None if found.over is None else _list(found.over)
        split = ([(name, _list(part)) for name, part in some.items()] for some in (found.parts, found.curve))
        add_line(self.path, json.dumps([key, _list(found.values), over, found.note, seconds, *split]))

    @property
    def trained(self) -> Path | None:
        """The folder of what takes long to train; None where nothing is remembered."""
        return None if self.path is None else self.path.with_name(f"{self.path.name}.trained")

    def holds(self) -> bool:
        """Whether there is anything to go on from."""
        return any(place is not None and place.exists() for place in (self.path, self.trained))

    def clear(self) -> None:
        """The audit is finished: nothing to resume."""
        if self.path is None or self.trained is None:
            return
        self.path.unlink(missing_ok=True)
        shutil.rmtree(self.trained, ignore_errors=True)


def _list(values: Tensor) -> list[float]:
    return [float(v) for v in values.double()]
