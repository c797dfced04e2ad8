"""The command `steady`: a user's attention model audited, trained on to be steady, and audited again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors.torch import save

from unmask import api
from unmask.cli.options import STEADY
from unmask.cli.sources import Source, UserTask
from unmask.cli.steps import check_place, finish, tell, user_task
from unmask.errors import InputError, unknown
from unmask.methods import make
from unmask.models import wrap
from unmask.report.joining import side_by_side
from unmask.task import seeded
from unmask.writing import write_bytes

__all__ = ["SteadyRequest", "steady_step"]

WEIGHTS = "steady.safetensors"
POOL = 800  # rows that judges learn from: there are two audits


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
    before = _audited(task, request)
    trainer.fit(task.model, task.data)
    after = _audited(replace(task, model=trainer.model_), request)
    report = side_by_side({"before": before, f"after {request.method}": after}, {"training": trainer.readings_})
    write_bytes(out / WEIGHTS, save({name: t.contiguous() for name, t in trainer.model_.module.state_dict().items()}))
    finish(report, out)
    tell(f"the weights of the steady model: {out / WEIGHTS} (load_state_dict(safetensors.torch.load_file(...)))")


def _audited(task: UserTask, request: SteadyRequest) -> Any:
    given = {"attention": "attention"}
    return api.audit(task.model, task.data, given, request.k, n=request.rows, seed=task.seed, pool=POOL)
