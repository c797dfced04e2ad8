"""Does it depend on the baseline? The same method, units hidden in every way there is for such data."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import combinations
from typing import Any

import torch

from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.locked import explains_itself
from unmask.audit.stability import HIDES_NOTHING, shared
from unmask.errors import UnmaskError
from unmask.masking import REMOVALS
from unmask.types import Explainer, Explanation

__all__ = ["LEAST", "removal_sensitivity", "ways"]

LEAST = 2  # removals that must have worked; there are three or more for every kind of data


def ways(kind: str) -> list[str]:
    """The removals that can hide units of `kind`."""
    return [name for name, way in REMOVALS.items() if kind in way.kinds]


def removal_sensitivity(case: Case, subject: Subject) -> Values:
    """Mean over pairs of removals of 1 - |kept under both| / k; 0: the baseline does not matter. Lower is better.

    The explainer is cloned, its removal changed, fitted to the same model and asked about the same rows and classes;
    `parts` has each pair. By chance 1 - k/d. After Krishna et al. 2022, over baselines instead of methods.
    """
    explainer = subject.explainer
    if explainer is None:
        return missing(case, "came ready-made: it cannot be fitted again")
    if explains_itself(explainer):
        return missing(case, "a model that explains itself hides units in its own way")
    thing: Any = explainer
    if not is_dataclass(thing) or "removal" not in {f.name for f in fields(thing)}:
        return missing(case, "it has no removal that could be changed")
    found, faults = _under_each(case, explainer)
    if len(found) < LEAST:
        return missing(case, f"could be fitted under {len(found)} removals only: {'; '.join(faults)}")
    parts = {f"removals={a} and {b}": 1 - shared(found[a].kept, found[b].kept) for a, b in combinations(found, 2)}
    note = HIDES_NOTHING if _alike(list(found.values())) else f"removals: {', '.join(found)}"
    return Values(torch.stack(list(parts.values())).nanmean(0), note=note, parts=parts)


def _alike(found: list[Explanation]) -> bool:
    """Whether the very same scores came out every time: the method hides no unit, so nothing could change."""
    return all(torch.allclose(found[0].scores, e.scores, rtol=1e-5, equal_nan=True) for e in found[1:])


def _under_each(case: Case, explainer: Explainer) -> tuple[dict[str, Explanation], list[str]]:
    """Removal -> what the method says under it, and why others did not work."""
    found, faults = {}, []
    for name in ways(case.data.kind):
        unfitted: Any = explainer.clone()
        try:
            e = replace(unfitted, removal=name).fit(case.model, case.data).explain(case.x, case.target)
        except UnmaskError as error:
            faults.append(f"{name}: {error}")
            continue
        found[name] = replace(e, kept=e.kept[:, : case.valid.shape[1]])
    return found, faults
