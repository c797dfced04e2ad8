"""What an audit has finished, on disk, so that one that was cut short goes on where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask import seeds
from unmask.audit.case import Values, digest
from unmask.audit.subjects import Settings
from unmask.masking import subsets
from unmask.models import Wrapped, shown
from unmask.saving import parts_of
from unmask.task import hiding, settings_of
from unmask.types import Dataset, Explanation, Model, Removal, rows_of
from unmask.writing import add_line, write_text

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
    """Values by key, one JSON line each, written as they come; without a path it remembers nothing.

    Audits may share a place. What one has finished another takes, and keeps as its own beside it: an audit that is
    complete clears its own lines and its own trained methods, and nothing that another goes on from.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.audit = "any"  # whose lines and trained methods are written; `begin` knows better
        self.grounds = ""
        self.known: dict[str, tuple[Values, float]] = {}
        self.written: set[tuple[str, str]] = set()  # audit and key of each line
        if path is not None and path.exists():
            self._read(path)

    def begin(self, model: Wrapped, data: Dataset, given: Mapping[str, object], settings: Settings) -> None:
        """Know whose work this is; the model is asked here, once for all that is remembered of it."""
        if self.path is None:
            return
        self.grounds = digest(*marks(model, hiding(model, data, settings.removal), data))
        split, told = data[settings.split], [(name, _known_by(thing)) for name, thing in given.items()]
        how = replace(settings, begun=0.0)
        self.audit = digest(self.grounds, split.x, split.y, split.relevant, told, how)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                key, values, over, note, seconds, parts, curve, audit = json.loads(line)
            except ValueError:
                continue  # the line that was being written when the run was cut short
            self.written.add((audit, key))
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
        if self.path is None or (self.audit, key) in self.written:
            return
        over = None if found.over is None else _list(found.over)
        split = ([(name, _list(part)) for name, part in some.items()] for some in (found.parts, found.curve))
        add_line(self.path, json.dumps([key, _list(found.values), over, found.note, seconds, *split, self.audit]))
        self.written.add((self.audit, key))

    @property
    def trained(self) -> Path | None:
        """The folder of what takes long to train, in it one for each audit; None where nothing is remembered."""
        return None if self.path is None else self.path.with_name(f"{self.path.name}.trained")

    def places(self, name: str) -> list[Path]:
        """Where what was trained under this name may be: this audit's own place, then those of others."""
        if self.trained is None:
            return []
        own = self.trained / self.audit / name
        return [own, *sorted(place for place in self.trained.glob(f"*/{name}") if place != own)]

    def holds(self) -> bool:
        """Whether there is anything that this audit can go on from."""
        own = self.trained is not None and (self.trained / self.audit).exists()
        return own or any(audit == self.audit for audit, _ in self.written)

    def clear(self) -> None:
        """The audit is finished: nothing of it to resume. What others keep stays."""
        if self.path is None or self.trained is None:
            return
        shutil.rmtree(self.trained / self.audit, ignore_errors=True)
        with contextlib.suppress(OSError):  # others keep something there
            self.trained.rmdir()
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        others = [line for line in lines if _audit_of(line) not in ("", self.audit)]
        if others:
            write_text(self.path, "\n".join([*others, ""]))
        else:
            self.path.unlink(missing_ok=True)


def _audit_of(line: str) -> str:
    """The audit that wrote it; none where it cannot be read."""
    try:
        *_, audit = json.loads(line)
    except ValueError:
        return ""
    return audit if isinstance(audit, str) else ""


def _known_by(thing: Any) -> str:
    """By what an explanation is known again: its name, its scores, or its settings and what was learned."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, Explanation):
        return digest(thing.scores, thing.kept)
    settings = settings_of(thing) if is_dataclass(thing) and hasattr(thing, "method") else {}
    learned = parts_of(thing).values() if hasattr(thing, "__dict__") else ()
    return digest(type(thing).__name__, settings, *(t for part in learned for t in part.state_dict().values()))


def _list(values: Tensor) -> list[float]:
    return [float(v) for v in values.double()]
