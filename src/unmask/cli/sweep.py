"""The command `sweep`: a plan is read, run and summed up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.cli import StoppedError
from unmask.cli.steps import check_place, tell
from unmask.cli.tables import show_rows
from unmask.errors import UnmaskError
from unmask.sweep.engine import Workers
from unmask.sweep.plan import read_plan
from unmask.sweep.running import TABLE, listed, sweep

__all__ = ["list_step", "sweep_step"]

SHOWN = {"fs-m": "fs-m", "fu-m": "fu-m", "reading": "reading", "share": "encoding-share"}


def list_step(path: Path, out: Path, as_json: bool) -> None:
    """Show the tasks of a plan and which are done."""
    show_rows(listed(read_plan(path), out, path.parent), as_json)


def sweep_step(path: Path, out: Path, workers: Workers, as_json: bool) -> None:
    """Run what is missing of a plan, then say what came out; what failed is the error in the end."""
    plan = read_plan(path)
    check_place(out)
    say = (lambda text: None) if as_json else tell
    try:
        result = sweep(plan, out, replace(workers, threads=1), path.parent, say)
    except KeyboardInterrupt as stop:
        kept = f"the finished tasks are kept in {out}; run the same command again to go on"
        raise StoppedError(kept) from stop
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _show(result, out)
    if result["failed"]:
        raise UnmaskError(f"{len(result['failed'])} tasks failed, the others are kept: {_reasons(result['failed'])}")


def _show(result: Mapping[str, Any], out: Path) -> None:
    for found in result["tuned"]:
        settings = ", ".join(f"{name} = {_short(value)}" for name, value in found["settings"].items())
        best = f"{settings} ({found['aim']} {_short(found['value'])})" if settings else "its own settings stay"
        tell(f"searched: {found['task']}: {best}")
    if result["summary"]:
        show_rows([_line(line) for line in result["summary"]], as_json=False)
    searched = f", after {result['trials']} trials" if result["trials"] else ""
    tell(f"{result['done']} of {result['tasks']} tasks are done, {result['measured']} were measured now{searched}")
    tell(f"written: {out / TABLE}, a line for each number of each task")


def _reasons(failed: Sequence[Mapping[str, str]]) -> str:
    """Each reason once, with one of its tasks: those stand above one by one."""
    tasks: dict[str, list[str]] = {}
    for failure in failed:
        tasks.setdefault(failure["why"], []).append(failure["task"])
    more = {why: f" (and {len(own) - 1} more)" if len(own) > 1 else "" for why, own in tasks.items()}
    return "; ".join(f"{own[0]}{more[why]}: {why}" for why, own in tasks.items())


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    """A data set, a model and a method, as people read it: means over seeds."""
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in line["verdicts"].items())
    means = {head: _short(line["means"].get(check)) for head, check in SHOWN.items()}
    return {"data": line["dataset"], "model": line["model"], "method": line["method"], "seeds": line["seeds"]} | {
        **means,
        "verdicts": verdicts or None,
    }


def _short(value: Any) -> Any:
    return f"{value:.3g}" if isinstance(value, float) else value
