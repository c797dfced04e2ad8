"""What an audit will take, said before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping

from unmask.audit.subjects import Settings
from unmask.audit.work import Size, Work, job_of, planned
from unmask.masking.controls import CONTROLS
from unmask.types import Dataset

__all__ = ["cost"]


def cost(data: Dataset, given: Mapping[str, object], settings: Settings) -> str:
    """What an audit will take, in a sentence, before anything is fitted."""
    rows = min(settings.n, len(data[settings.split]))
    judged = sum(min(most, len(data[s])) for s, most in settings.pools.items())
    total = len(given) + len(CONTROLS)
    known = planned(Size(rows, total, data.kind), settings.checks, settings.light or ())
    jobs = [known[job] for job in dict.fromkeys(map(job_of, settings.checks)) if job in known]
    return (
        f"auditing {len(given)} explanations and {len(CONTROLS)} controls on {rows} rows: about "
        f"{rows + judged + _all(jobs, 'answers'):,} model answers besides what the methods ask themselves, "
        f"{total * judged:,} further rows explained for the judges, at least "
        f"{_all(jobs, 'judges') + _all(jobs, 'pairs')} judges trained"
        + "".join(f", {more}" for more in _on_demand(given, jobs))
    )


def _on_demand(given: Mapping[str, object], jobs: list[Work]) -> list[str]:
    """What the costly checks come to: only explainers, given or by name, can be asked and fitted again."""
    askable = sum(isinstance(thing, str) or hasattr(thing, "explain") for thing in given.values())
    parts = [
        (_all(jobs, "networks"), "at least {} fresh networks trained"),
        (_all(jobs, "retrained"), "{} networks retrained without units"),
        (askable * _all(jobs, "moved"), "{} rows explained again"),
        (askable * _all(jobs, "astray"), "{} rows led astray"),
        (askable * _all(jobs, "refits"), "{} explainers fitted again"),
        (_all(jobs, "copies"), "a copy of the model trained on shuffled labels"),
    ]
    return [text.format(f"{many:,}") for many, text in parts if many]


def _all(jobs: list[Work], what: str) -> int:
    return sum(getattr(job, what) for job in jobs)
