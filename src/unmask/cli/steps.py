"""The three steps on the user's own model and data; names and places are checked before any work."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from unmask import api
from unmask.audit import chosen
from unmask.audit.budget import seconds_of
from unmask.audit.memo import Memo
from unmask.cli import StoppedError
from unmask.cli.options import SPLITS
from unmask.cli.scores import read_scores
from unmask.cli.sources import Source, UserTask, check_source, data_of, task_of
from unmask.cli.tables import compared_rows, show_rows
from unmask.errors import InputError, UnmaskError, unknown
from unmask.loading import load as load_explainer
from unmask.masking import REMOVALS
from unmask.methods import METHODS, PARTS
from unmask.report import Report
from unmask.types import Dataset, Explanation
from unmask.writing import write_text

__all__ = [
    "AuditRequest",
    "FitRequest",
    "audit_step",
    "audited",
    "check_new_folder",
    "check_place",
    "console",
    "explain_step",
    "finish",
    "fit_step",
    "settings_of",
    "tell",
    "user_task",
]

MEMO = ".unmask-audit"  # finished checks of an audit that is not complete


@dataclass(frozen=True)
class FitRequest:
    """What to fit and how; `settings` are those of the method as they were typed."""

    method: str
    k: int
    removal: str | None
    settings: Sequence[str] = ()


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
    checks: list[str]
    budget: str | None = None


def console() -> Console:
    """Where results are printed."""
    return Console(highlight=False, markup=False)


def tell(text: str) -> None:
    """Print a sentence, broken by the terminal only."""
    console().print(text, soft_wrap=True)


def fit_step(source: Source, request: FitRequest, out: Path) -> None:
    """Fit and save."""
    method, k, removal, settings = request.method, request.k, request.removal, settings_of(request.settings)
    _check_names([] if method == "auto" else [method], removal)
    if method != "auto":
        api.explainer(method, k, removal=removal, settings=settings)  # a wrong setting is refused now
    check_new_folder(out)
    task = user_task(source, k)
    explainer = api.fit(task.model, task.data, k, method=method, removal=removal, seed=task.seed, settings=settings)
    try:
        explainer.save(out)
    except UnmaskError:
        raise
    except Exception as error:
        raise InputError(f"cannot write {out}: {error}; name a place with room and leave to write") from error
    if method == "auto":
        show_rows(compared_rows(explainer.comparison_), as_json=False)
    tell(f"{explainer.method} is fitted to {task.model.name} on {task.data.name} and saved in {out}")


def settings_of(given: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE as settings: numbers, true, false, null as in JSON, all else text; a dot leads into a part of them."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        outer, dot, inner = name.partition(".")
        if not (equals and outer) or (dot and (outer not in PARTS or not inner)):
            raise InputError(f"--set takes NAME=VALUE, such as tau=0.1 or recipe.epochs=5, got {text!r}")
        place = found.setdefault(outer, {}) if dot else found
        try:
            place[inner or outer] = json.loads(value)
        except ValueError:
            place[inner or outer] = value
    return found


def explain_step(source: Source, folder: Path, split: str, show: int, out: Path | None) -> None:
    """Explain a split, draw some rows, write all of them where asked."""
    _check_names([], None, split)
    _saved(folder)
    if out is not None:
        check_place(out.parent)
    task = user_task(source)
    explanation = _saved(folder, task).explain(task.data[split].x)
    for i in range(min(show, len(explanation))):
        tell(f"row {i} of {split}")
        console().print(explanation.show(i), "")
    if out is not None:
        write_text(out, json.dumps(_plain(explanation, task.data)))
        tell(f"{len(explanation)} rows written to {out}")


def audit_step(source: Source, request: AuditRequest, out: Path) -> None:
    """Gather what is to be audited, audit it, print and write the report."""
    if "auto" in request.methods:
        raise InputError(
            "auto chooses a method and is fitted first: unmask fit --method auto --out FOLDER, then --explainer FOLDER"
        )
    _check_names(request.methods, request.removal, request.split)
    _check_request(request)
    chosen(request.checks)
    if request.budget is not None:
        seconds_of(request.budget)
    check_place(out)
    given: dict[str, Any] = {path.stem: read_scores(path) for path in request.scores}
    for folder in request.explainers:
        _saved(folder)
    task = user_task(source, request.k)
    given |= {_label(folder): _saved(folder, task) for folder in request.explainers}
    given |= {name: name for name in request.methods}
    settings: dict[str, Any] = {"k": request.k, "split": request.split, "n": request.rows, "removal": request.removal}
    settings |= {"checks": request.checks, "budget": None if request.budget is None else seconds_of(request.budget)}
    audited(task, given, settings, out)


def audited(task: UserTask, given: dict[str, Any], settings: dict[str, Any], out: Path) -> None:
    """Audit, print and write the report; what is finished is kept in `out` until it is written."""
    memo = Memo(out / MEMO)
    try:
        report = api.audit(task.model, task.data, given, **settings, seed=task.seed, say=tell, resume=memo, keep=True)
    except KeyboardInterrupt as stop:
        if not memo.holds():
            raise
        kept = f"what is finished is kept in {out / MEMO}; run the same command again to go on"
        raise StoppedError(kept) from stop
    finish(report, out)
    memo.clear()


def finish(report: Report, out: Path) -> None:
    """Print the verdicts and write both files."""
    console().print(report)
    for name in ("report.html", "report.json"):
        report.save(out / name)
    tell(f"written: {out / 'report.html'} (open it in a browser) and {out / 'report.json'}")


def user_task(source: Source, k: int | None = None) -> UserTask:
    """The user's model and data, once it is seen that they fit each other and k."""
    check_source(source)
    data = data_of(source)
    units = data.train.valid.shape[1]
    if k is not None and not 1 <= k <= units:
        raise InputError(f"--k must be from 1 to {units} (a row of {data.name} has {units} units), got {k}")
    return task_of(source, data)


def _check_names(methods: list[str], removal: str | None, split: str = "test") -> None:
    for name in methods:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    if removal is not None and removal not in REMOVALS:
        raise unknown("removal", removal, REMOVALS)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)


def _check_request(request: AuditRequest) -> None:
    names = [*request.methods, *map(_label, request.explainers), *(path.stem for path in request.scores)]
    if not names:
        raise InputError("nothing to audit: give --method, --explainer or --scores at least once")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"two explanations are called {twice[0]!r}; rename a folder or file, or leave one out")


def _label(folder: Path) -> str:
    return folder.absolute().name


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the work rather than after it."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise InputError(f"cannot write into {folder}: {there} is a file; name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {folder}: no leave to write in {there}; name another folder")


def check_new_folder(out: Path) -> None:
    """Refuse a folder that holds anything but an explainer, which would be replaced."""
    check_place(out)
    if out.is_dir() and any(out.iterdir()) and not (out / "explainer.json").is_file():
        raise InputError(f"{out} holds other files and no saved explainer; name a new folder")


def _saved(folder: Path, task: UserTask | None = None) -> Any:
    """The explainer saved in `folder`; whatever is wrong with the files is one sentence."""
    try:
        return load_explainer(folder, model=None if task is None else task.model)
    except UnmaskError:
        raise
    except Exception as error:
        raise InputError(f"{folder} is no saved explainer, or a broken one ({error}); fit it again") from error


def _plain(explanation: Explanation, data: Dataset) -> dict[str, Any]:
    return {
        "scores": explanation.scores.tolist(),
        "kept": [row.nonzero()[:, 0].tolist() for row in explanation.kept],
        "target": [data.classes[t] for t in explanation.target.tolist()],
    }
