"""Explainers on disk: tensors as safetensors, everything else as JSON with a format version; never pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from unmask.errors import NotFittedError
from unmask.masking.removals import FixedFill
from unmask.nets import Vocabulary
from unmask.nets.pieces import PACKAGE
from unmask.task import Task, settings_of
from unmask.types import Removal
from unmask.writing import new_folder

__all__ = ["FORMAT", "KEYS", "MAY", "parts_of", "save"]

FORMAT = 2
KEYS = {"format", "method", "settings", "classes", "layout", "vocabulary", "removal", "readings"}
MAY = {"seconds"}  # what fitting took; older folders do not say


def save(explainer: Any, path: str | Path) -> None:
    """Write a fitted explainer into the folder `path`; the model it explains is not part of it."""
    task: Task | None = getattr(explainer, "task_", None)
    if task is None:
        raise NotFittedError("only a fitted explainer can be saved: call fit(model, data) first")
    layout, vocabulary = task.reader.layout, task.reader.vocabulary
    text = {
        "format": FORMAT,
        "method": explainer.method,
        "settings": settings_of(explainer),
        "classes": list(task.classes),
        "layout": {key: getattr(layout, key) for key in ("kind", "shape", "owner", "units", "says")},
        "vocabulary": list(vocabulary.words) if isinstance(vocabulary, Vocabulary) else vocabulary and PACKAGE,
        "removal": _removal_facts(task.removal),
        "readings": getattr(explainer, "readings_", {}),
        "seconds": getattr(explainer, "seconds_", None),
    }
    with new_folder(Path(path), marker="explainer.json") as folder:
        save_file(_tensors(explainer, task), folder / "tensors.safetensors")
        (folder / "explainer.json").write_text(json.dumps(text, indent=1))


def parts_of(explainer: Any) -> dict[str, nn.Module]:
    """The networks of an explainer by the names of its attributes."""
    return {name: part for name, part in vars(explainer).items() if isinstance(part, nn.Module)}


def _tensors(explainer: Any, task: Task) -> dict[str, Tensor]:
    learned = {
        f"{n}.{key}": value for n, part in parts_of(explainer).items() for key, value in part.state_dict().items()
    }
    extra = {"task.centre": task.reader.centre, "task.scale": task.reader.scale}
    if isinstance(task.removal, FixedFill):
        extra["task.fills"] = task.removal.fills
    return {name: value.detach().cpu().contiguous().clone() for name, value in {**learned, **extra}.items()}


def _removal_facts(removal: Removal) -> dict[str, Any]:
    return {"name": removal.name, "token": getattr(removal, "token", None), "sigma": getattr(removal, "sigma", None)}
