"""Is it needed, for networks trained without it? Units are removed from the training rows too.

What the model itself makes of rows with holes it never saw may be an accident; a network trained on such rows has no
such excuse. As everywhere in the audit, networks learn what the model says, not the labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unmask.audit import fresh
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.locked import explains_itself
from unmask.errors import UnmaskError
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Explainer, Explanation, Inputs

__all__ = ["SHARES", "roar", "roar_recursive"]

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a row's units that are removed, as published


def roar(case: Case, subject: Subject) -> Values:
    """Mean over SHARES of 1[a network trained without the best units still gives the target]; lower is better.

    Remove and retrain: the best 10, 30, 50, 70 and 90% of the units of every row are removed, for each share a fresh
    network is trained on such rows, and asked about such rows. Hooker et al. 2019.
    """
    points = {q: fresh.fu_a(case, _keeping(subject, q)) for q in SHARES}
    return _mean(points)


def roar_recursive(case: Case, subject: Subject) -> Values:
    """As `roar`, but after each share the retrained network is explained anew, without what is removed already.

    So units that tell the same are removed one after the other. Lower is better. Madsen et al. 2022.
    """
    explainer = subject.explainer
    if explainer is None:
        return missing(case, "came ready-made: it cannot be fitted again")
    if explains_itself(explainer):
        return missing(case, "a model that explains itself has no other model to be fitted to")
    if case.removal.name == "delete":
        return missing(case, "units must stay in their places: use removal 'pad' or 'mask-token'")
    try:
        return _mean(_recursively(case, subject, explainer))
    except UnmaskError as error:
        return missing(case, f"could not be fitted again: {error}")


def _mean(points: Mapping[float, Values]) -> Values:
    curve = {q: found.values for q, found in points.items()}
    notes = dict.fromkeys(found.note for found in points.values() if found.note)
    return Values(torch.stack(list(curve.values())).mean(0), note="; ".join(notes), curve=curve)


def _keeping(subject: Subject, share: float) -> Subject:
    """The same explanation with that share of the units, on all its rows; rows without scores are left out."""

    def top(e: Explanation) -> Explanation:
        return replace(e, kept=subsets.top_share(e.scores, share, e.valid))

    others: dict[str, Any] = {s: top(e) for s in ("train", "validation") if (e := getattr(subject, s)) is not None}
    return replace(subject, explanation=top(subject.explanation), spare=None, spare_x=None, **others)


@dataclass(frozen=True)
class _Part:
    """Rows of one split, which of their units are removed, and the scores that say what goes next."""

    x: Inputs
    removed: Tensor
    valid: Tensor
    target: Tensor
    scores: Tensor


def _recursively(case: Case, subject: Subject, explainer: Explainer) -> dict[float, Values]:
    if subject.train is None or subject.validation is None:
        raise UnmaskError("it has no scores on the judges' rows")
    parts = {
        "audited": _part(case.x, subject.explanation),
        "train": _part(case.pools["train"].split.x, subject.train),
        "validation": _part(case.pools["validation"].split.x, subject.validation),
    }
    found = {}
    for q in SHARES:
        parts = {name: _removed(part, q) for name, part in parts.items()}
        found[q], net = fresh.retrained(case, _without(subject, parts))
        if q != SHARES[-1]:
            parts = _explained(case, explainer, net, parts)
    return found


def _without(subject: Subject, parts: Mapping[str, _Part]) -> Subject:
    """The explanation that keeps what is removed."""
    names = {"audited": "explanation", "train": "train", "validation": "validation"}
    masks: dict[str, Any] = {to: replace(getattr(subject, to), kept=parts[s].removed) for s, to in names.items()}
    return replace(subject, **masks)


def _part(x: Inputs, e: Explanation) -> _Part:
    return _Part(x, torch.zeros_like(e.valid), e.valid, e.target, e.scores)


def _removed(part: _Part, share: float) -> _Part:
    """The best units of those left are removed, until that share is gone."""
    first = part.scores.masked_fill(part.removed, torch.inf)  # what is gone stays gone
    return replace(part, removed=subsets.top_share(first, share, part.valid))


def _explained(case: Case, explainer: Explainer, net: Wrapped, parts: Mapping[str, _Part]) -> dict[str, _Part]:
    """The retrained network explained on the rows it was trained on."""
    rows = {name: next(case.removal.versions(p.x, p.valid & ~p.removed)) for name, p in parts.items()}
    data = _holed(case.data, rows, parts)
    again = explainer.clone().fit(net, data)
    found = {}
    for name, part in parts.items():
        scores = again.explain(rows[name], part.target).scores[:, : part.valid.shape[1]]
        found[name] = replace(part, scores=scores)
    return found


def _holed(data: Dataset, rows: Mapping[str, Inputs], parts: Mapping[str, _Part]) -> Dataset:
    def split(name: str) -> Any:
        part = parts[name]
        return replace(data.train, x=rows[name], y=part.target, valid=part.valid, **_UNKNOWN)

    return replace(data, train=split("train"), validation=split("validation"), test=split("audited"))


_UNKNOWN: dict[str, Any] = {"relevant": None, "relevant_sentences": None, "sentence_of": None}
