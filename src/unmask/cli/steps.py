"""The three steps on the user's own model and data."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from rich.console import Console

from unmask import api
from unmask.data import DATASETS, load, read
from unmask.errors import InputError
from unmask.explainers.saving import load as load_explainer
from unmask.models import Wrapped, bind, wrap
from unmask.report import Report
from unmask.types import Dataset
from unmask.writing import write_text

__all__ = ["AuditRequest", "UserTask", "audit_step", "console", "explain_step", "finish", "fit_step", "task_from"]


@dataclass(frozen=True)
class UserTask:
    """The model and the data of one command."""

    model: Wrapped
    data: Dataset
    seed: int


@dataclass(frozen=True)
class AuditRequest:
    """What to audit and how."""

    methods: list[str]
    explainers: list[Path]
    scores: list[Path]
    k: int
    split: str
    rows: int
    removal: str | None


def console() -> Console:
    """Where results are printed."""
    return Console(highlight=False)


def task_from(model: str, data: str, label: str | None, text: str | None, outputs: str | None, seed: int) -> UserTask:
    """Read the data, find the model, and see that they fit together."""
    if outputs not in (None, "logits", "probabilities"):
        raise InputError(f"--outputs must be 'logits' or 'probabilities', got {outputs!r}")
    rows = _data(data, label, text, seed)
    if model == "reference":
        return UserTask(api.train_model(rows, seed=seed), rows, seed)
    kind = cast('Literal["logits", "probabilities"] | None', outputs)
    return UserTask(bind(wrap(_find(model), outputs=kind), rows), rows, seed)


def _data(name: str, label: str | None, text: str | None, seed: int) -> Dataset:
    if name.partition(":")[0] in DATASETS and not Path(name).exists():
        return load(name, seed=seed)
    return read(Path(name), label=label, text=text, seed=seed)


def _find(where: str) -> Any:
    """The object at package.module:name; a function without arguments is called."""
    module_name, colon, attribute = where.partition(":")
    if not colon or not attribute:
        raise InputError(f"--model must be 'package.module:name' or 'reference', got {where!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"cannot import {module_name!r} for --model: {error}") from error
    if not hasattr(module, attribute):
        raise InputError(f"{module_name} has no {attribute!r}; --model takes 'package.module:name'")
    found = getattr(module, attribute)
    is_model = hasattr(found, "predict_proba") or hasattr(found, "forward") or isinstance(found, Wrapped)
    return found if is_model or not callable(found) or _takes_rows(found) else found()


def _takes_rows(function: Any) -> bool:
    import inspect

    needed = [
        p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind != p.VAR_KEYWORD
    ]
    return bool(needed)


def fit_step(task: UserTask, method: str, k: int, removal: str | None, out: Path) -> None:
    """Fit and save."""
    explainer = api.fit(task.model, task.data, k, method=method, removal=removal, seed=task.seed)
    explainer.save(out)
    console().print(f"{method} is fitted to {task.model.name} on {task.data.name} and saved in {out}")


def explain_step(task: UserTask, folder: Path, split: str, show: int, out: Path | None) -> None:
    """Explain a split, draw some rows, write all of them where asked."""
    explanation = load_explainer(folder, model=task.model).explain(task.data[split].x)
    for i in range(min(show, len(explanation))):
        console().print(explanation.show(i))
    if out is not None:
        rows = {
            "scores": explanation.scores.tolist(),
            "kept": [row.nonzero()[:, 0].tolist() for row in explanation.kept],
            "target": [task.data.classes[t] for t in explanation.target.tolist()],
        }
        write_text(out, json.dumps(rows))
        console().print(f"{len(explanation)} rows written to {out}")


def audit_step(task: UserTask, request: AuditRequest, out: Path) -> None:
    """Gather what is to be audited, audit it, print and write the report."""
    given: dict[str, Any] = {name: name for name in request.methods}
    given |= {path.name: load_explainer(path, model=task.model) for path in request.explainers}
    given |= {path.stem: _scores(path) for path in request.scores}
    report = api.audit(
        task.model,
        task.data,
        given,
        k=request.k,
        split=request.split,
        n=request.rows,
        removal=request.removal,
        seed=task.seed,
        say=console().print,
        resume=out / ".unmask-audit",
    )
    finish(report, out)


def _scores(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read scores from {path}: {error}; expected a file written by numpy.save") from error


def finish(report: Report, out: Path) -> None:
    """Print the verdicts and write both files."""
    console().print(report)
    for name in ("report.html", "report.json"):
        report.save(out / name)
    console().print(f"written: {out / 'report.html'} (open it in a browser) and {out / 'report.json'}")
