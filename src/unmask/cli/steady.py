"""The command `steady`: a user's attention model audited, trained on to be steady, and audited again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from unmask import api
from unmask.attention import lessons
from unmask.change import Better, Change
from unmask.cli.options import STEADY
from unmask.cli.sources import Source, UserTask
from unmask.cli.steps import check_place, finish, tell, user_task
from unmask.errors import InputError, unknown
from unmask.methods import make
from unmask.models import wrap
from unmask.models.attending import embedding_of
from unmask.report.joining import side_by_side
from unmask.task import seeded
from unmask.writing import write_bytes

__all__ = ["SteadyRequest", "steady_step"]

WEIGHTS = "steady.safetensors"
TRIED = 8  # rows on which it is seen whether the model can be trained on
READ: dict[str, tuple[Better, str]] = {
    "f1": ("higher", "how often it is right, macro F1"),
    "jsd": ("lower", "how far noise on word vectors moves attention"),
    "tvd": ("lower", "how far the same noise moves the answer"),
    "entropy": ("none", "1 is attention that is equal everywhere: steady, and of no use"),
}
PROMISED: dict[str, tuple[Better, str]] = {
    "gamma": ("lower", "in 95% of rows the answer is within this of the old one"),
    "beta": ("higher", "in 95% of rows at least this share of the heaviest words is the same"),
    "alpha": ("lower", "in 95% of rows no change of attention by {radius:.2g} moves the answer further"),
}


@dataclass(frozen=True)
class SteadyRequest:
    """How many words count, how the model is trained on, and how many rows are audited."""

    k: int
    method: str
    attention: str | None
    epochs: int
    rows: int


def steady_step(source: Source, request: SteadyRequest, out: Path) -> None:
    """Audit, train on, audit again; one report of both, and the weights of the steady model."""
    if request.method not in STEADY:
        raise unknown("way to make attention steady", request.method, STEADY)
    if request.epochs < 1:
        raise InputError(f"--epochs must be at least 1, got {request.epochs}")
    check_place(out)
    task = user_task(source, request.k)
    if request.attention is not None:
        task = replace(task, model=wrap(task.model, attention=request.attention))
    trainer = seeded(make(request.method, request.k), task.seed)
    trainer.recipe = replace(trainer.recipe, epochs=request.epochs)
    _try_out(task, request)
    before = _audited(task, request)
    trainer.fit(task.model, task.data)
    after = _audited(replace(task, model=trainer.model_), request)
    both, read = {"before": before, f"after {request.method}": after}, trainer.readings_
    report = side_by_side(both, {"training": read}, _changes(read, request.k))
    write_bytes(out / WEIGHTS, save({name: t.contiguous() for name, t in trainer.model_.module.state_dict().items()}))
    finish(report, out)
    tell(f"the weights of the steady model: {out / WEIGHTS} (load_state_dict(safetensors.torch.load_file(...)))")


def _try_out(task: UserTask, request: SteadyRequest) -> None:
    """Refuse a model that cannot be trained on before the first audit, not after it."""
    train, held = (
        split.rows(torch.arange(min(TRIED, len(split)))) for split in (task.data.train, task.data.validation)
    )
    tried = lessons.lesson(task.model, replace(task.data, train=train, validation=held), request.k, None)
    embedding_of(tried.student.module)  # without word vectors there is nothing to move


def _changes(read: Mapping[str, Mapping[str, float]], k: int) -> list[Change]:
    """What was read of the model on test rows, and what it promises there (Definition 2 of SEAT)."""
    old, new, kept = read["before"], read["after"], read.get("promises", {})
    both = [Change(name, old[name], new[name], better, told) for name, (better, told) in READ.items()]
    same = Change("overlap", None, new["overlap"], "higher", f"of the {k} heaviest words are the same")
    promised = [
        Change(name, None, kept[name], better, told.format(**kept))
        for name, (better, told) in PROMISED.items()
        if name in kept
    ]
    return [*both, same, *promised]


def _audited(task: UserTask, request: SteadyRequest) -> Any:
    given = {"attention": "attention"}
    return api.audit(task.model, task.data, given, request.k, n=request.rows, seed=task.seed)
