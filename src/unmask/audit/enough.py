"""Is it enough, is it needed? The model itself, shown what is kept and what is left; the approximator beside it."""

from __future__ import annotations

import torch

from unmask.audit.case import Case, Subject, Values, missing

__all__ = ["approximator_gap", "comprehensiveness", "fs_m", "fu_m", "sufficiency"]


def fs_m(case: Case, subject: Subject) -> Values:
    """1 where argmax M(kept units only) = target, else 0; higher is better. Liang et al. 2020."""
    return Values((case.shown(subject.kept).argmax(1) == case.target).float())


def fu_m(case: Case, subject: Subject) -> Values:
    """1 where argmax M(everything but the kept units) = target, else 0; lower is better. Liang et al. 2020."""
    return Values((case.shown(case.valid & ~subject.kept).argmax(1) == case.target).float())


def sufficiency(case: Case, subject: Subject) -> Values:
    """p(target | x) - p(target | kept units only); lower is better, may be negative. DeYoung et al. 2020."""
    return Values(case.said - case.pick(case.shown(subject.kept)))


def comprehensiveness(case: Case, subject: Subject) -> Values:
    """p(target | x) - p(target | everything but the kept units); higher is better. DeYoung et al. 2020."""
    return Values(case.said - case.pick(case.shown(case.valid & ~subject.kept)))


def approximator_gap(case: Case, subject: Subject) -> Values:
    """1[the approximator finds the target] - 1[the model does], from the same selection; 0 is no gap."""
    if subject.by_chance and any(hasattr(s.explainer, "approximated") for s in case.subjects):
        return Values(torch.zeros(len(case.target)))
    read = getattr(subject.explainer, "approximated", None)
    if read is None:
        return missing(case, "this explanation has no approximator of its own")
    found = read(case.x, subject.explanation.kept)
    return Values((found == case.target).float() - fs_m(case, subject).values)
