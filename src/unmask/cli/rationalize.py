"""The command `rationalize`: a model that explains itself, trained on the user's data, compared and audited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from unmask.audit.people import token_scores, words_of
from unmask.cli.sources import Source, UserTask, check_source, data_of
from unmask.cli.steps import audited, check_new_folder, check_place, console, settings_of, tell
from unmask.errors import unknown
from unmask.methods import MODELS, make
from unmask.task import seeded
from unmask.types import Dataset, Explanation

__all__ = ["RationaleRequest", "budget", "rationalize_step"]

MODEL = "model"  # the folder below the report's that holds the trained model


@dataclass(frozen=True)
class RationaleRequest:
    """Which model, how much of a row it may read, and how many rows are audited and shown."""

    keep: float
    method: str
    rows: int
    show: int
    settings: tuple[str, ...] = ()


def budget(k: float) -> int | float:
    """`3` is three units of each row, `0.2` a fifth of them."""
    return int(k) if k >= 1 and k.is_integer() else k


def rationalize_step(source: Source, request: RationaleRequest, out: Path) -> None:
    """Train, say how right it is and whether people agree, show some rationales, audit, save."""
    if request.method not in MODELS:
        raise unknown("rationale model", request.method, MODELS)
    check_place(out)
    check_new_folder(out / MODEL)
    check_source(source)
    own = seeded(make(request.method, budget(request.keep), settings=settings_of(request.settings)), source.seed)
    data = data_of(source)
    own.fit(data)
    own.save(out / MODEL)
    explanation = own.explain(data.test.x)
    for line in _facts(own.method, explanation, data):
        tell(line)
    for i in range(min(request.show, len(explanation))):
        tell(f"row {i} of test")
        console().print(explanation.show(i), "")
    task = UserTask(own.model(), data, source.seed)
    most = int(explanation.kept.sum(1).max())
    audited(task, {request.method: own}, {"k": max(1, most), "n": request.rows}, out)
    tell(f"the model is saved in {out / MODEL}: unmask.load_explainer({str(out / MODEL)!r}).predict(rows)")


def _facts(method: str, e: Explanation, data: Dataset) -> list[str]:
    right = float((e.target == torch.as_tensor(data.test.y)).float().mean())
    share = float((e.kept.sum(1) / e.valid.sum(1).clamp(min=1)).mean())
    lines = [f"{method} is right in {right:.1%} of the test rows, reading {share:.0%} of each"]
    if data.test.relevant is not None:
        weight = words_of(data.layout, data.test.x, e.valid)
        f1 = token_scores(e.kept, data.test.relevant[:, : e.kept.shape[1]].bool(), weight)[2]
        lines.append(f"F1 of its rationales against the units known to decide: {float(f1.nanmean()):.1%}")
    return lines
