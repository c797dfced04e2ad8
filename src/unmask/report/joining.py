"""Reports of several models, or of one model at several times, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.change import Change
from unmask.errors import InputError
from unmask.heat import Heat
from unmask.report.plain import BETWEEN
from unmask.report.report import Report
from unmask.report.wording import PEOPLE
from unmask.types import Findings, Result

__all__ = ["side_by_side"]


def side_by_side(
    reports: Mapping[str, Report], settings: Mapping[str, Any] | None = None, changes: Sequence[Change] = ()
) -> Report:
    """One report of several audits of the same task, by name: "attention" of "before" becomes "attention (before)".

    The examples of all audits that show the same row stand together. `settings` are added to those of the first;
    `changes` tell what became of a model between them.
    """
    if len(reports) < 2:
        raise InputError(f"side_by_side takes two reports or more by name, got {len(reports)}")
    parts = {name: _named(report.findings, name) for name, report in reports.items()}
    tasks = {part.task for part in parts.values()}
    if len(tasks) > 1:
        raise InputError(f"side_by_side takes reports of one task, got {', '.join(sorted(tasks))}")
    first = next(iter(parts.values()))
    models = {part.model: None for part in parts.values()}
    questions = {question: checks for part in parts.values() for question, checks in part.questions.items()}
    return Report(
        Findings(
            task=first.task,
            model=" and ".join(models),
            rows=tuple(row for part in parts.values() for row in part.rows),
            verdicts=tuple(verdict for part in parts.values() for verdict in part.verdicts),
            controls=tuple(control for part in parts.values() for control in part.controls),
            examples=tuple(example for part in parts.values() for example in part.examples),
            heats=tuple(sorted((heat for part in parts.values() for heat in part.heats), key=_row)),
            changes=tuple(changes),
            settings={**first.settings, **(settings or {})},
            questions=questions,
            definitions={name: said for part in parts.values() for name, said in part.definitions.items()},
            places={name: shares for part in parts.values() for name, shares in part.places.items()},
            learning={name: read for part in parts.values() for name, read in part.learning.items()},
        )
    )


def _row(heat: Heat) -> str:
    """What all maps of one row share."""
    return heat.label.partition(",")[0]


def _named(findings: Findings, when: str) -> Findings:
    def renamed(things: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(thing, explanation=f"{thing.explanation} ({when})") for thing in things)

    def between(row: Result) -> Result:
        return replace(row, check=f"{row.check} ({when})") if BETWEEN in row.check else row

    return replace(
        findings,
        rows=tuple(map(between, renamed(findings.rows))),
        verdicts=renamed(findings.verdicts),
        examples=renamed(findings.examples),
        heats=renamed(findings.heats),
        controls=tuple(f"{control} ({when})" for control in findings.controls),
        places={name if name == PEOPLE else f"{name} ({when})": shares for name, shares in findings.places.items()},
        learning={f"{name} ({when})": read for name, read in findings.learning.items()},
    )
