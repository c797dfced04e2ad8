"""What does it cost?"""

from __future__ import annotations

import torch

from unmask.audit.case import Case, Subject, Values

__all__ = ["calls", "seconds"]


def seconds(case: Case, subject: Subject) -> Values:
    """Wall-clock seconds to explain one row, the same value for each; missing where the explanation came ready-made."""
    note = "" if subject.seconds == subject.seconds else "came ready-made"
    return Values(torch.full((len(case.target),), subject.seconds), note=note)


def calls(case: Case, subject: Subject) -> Values:
    """Rows the wrapped model answers for one explained row, the same value for each; steps of a path count too."""
    asked = "asks nothing of the wrapped model" if subject.calls == 0 else ""
    note = asked if subject.calls == subject.calls else "came ready-made"
    return Values(torch.full((len(case.target),), subject.calls), note=note)
