"""What an audit was run with, for the report: rows, removal, model, data, thresholds, versions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version

from unmask.audit import evidence, halves
from unmask.audit.case import Case, digest
from unmask.audit.folds import FOLDS
from unmask.audit.smuggling import ASLEEP, SEEDS
from unmask.audit.subjects import Settings
from unmask.types import Dataset

__all__ = ["doubts", "recorded", "right"]


def right(case: Case) -> float:
    """How often the model says what the labels say; nan without labels."""
    return float("nan") if case.labels is None else float((case.target == case.labels).double().mean())


def doubts(case: Case) -> str:
    """A sentence where the model is right surely less often than by chance: its classes may be in another order."""
    rate, n, classes = right(case), len(case.target), case.data.classes
    if not rate + 2 * math.sqrt(rate * (1 - rate) / n) + 1 / n < 1 / len(classes):
        return ""
    order = ", ".join(map(str, classes))
    return (
        f"{case.model.name} agrees with the labels in {rate:.0%} of the rows, less than by chance: are its classes in "
        f"the order of the data, {order}?"
    )


def recorded(case: Case, settings: Settings) -> dict[str, object]:
    """The settings of an audit as plain values: enough to run it again."""
    return {
        "k": settings.k,
        "removal": case.removal.name,
        "split": settings.split,
        "n": len(case.target),
        "rows": digest(case.x),
        "seed": settings.seed,
        **({} if case.labels is None else {"model is right in": f"{right(case):.0%} of the rows"}),
        "model": case.model.describe(),
        "data": _about(case.data),
        "explanations": {s.name: _plain(s.explanation.origin) for s in case.subjects},
        "judges": {
            "of a kind": SEEDS,
            "folds where rows are few": FOLDS,
            "learn from": settings.pool,
            "pairs for a half, and in doubt": [halves.pairs(len(case.target)), halves.MORE],
        },
        "checks": list(settings.checks),
        "run lightly": list(settings.light or ()),
        "versions": {name: version(name) for name in ("unmask", "torch", "captum", "scikit-learn", "numpy")},
        "thresholds": {
            "alpha": evidence.ALPHA,
            "encoding share": evidence.SHARE_LIMIT,
            "judges know": evidence.KNOW,
            "judge asleep": ASLEEP,
            "told by a half, at least": halves.LEAST,
            "one-sided": evidence.ONE_SIDED,
            "survives random weights": evidence.SURVIVES,
            "steady": evidence.STEADY,
            "attention hides": evidence.HIDES,
            "better off elsewhere": evidence.ELSEWHERE,
            "own judge ahead": evidence.AHEAD,
        },
    }


def _about(data: Dataset) -> dict[str, object]:
    columns = {"units": list(data.units)} if data.kind == "table" else {}
    return {"name": data.name, "kind": data.kind, "classes": list(data.classes), **columns, **dict(data.notes)}


def _plain(origin: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in origin.items() if key != "seconds"}
