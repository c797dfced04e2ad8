"""What can go wrong, in three kinds.

UnmaskError
├── InputError        what the caller gave cannot be used; the text says what was expected, what came and what to do
│   └── OutsideError  the fault lies outside, in the caller's own model or on the disk: another try may go well
├── NotFittedError    `explain` before `fit`
└── TrainingError     a loss left the finite numbers, or a run was cut short

UnmaskWarning         work goes on, but what comes out should not be used without a thought
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["InputError", "NotFittedError", "OutsideError", "TrainingError", "UnmaskError", "UnmaskWarning", "unknown"]


class UnmaskError(Exception):
    """Root of everything this library raises on purpose; the command line prints it as one line."""


class InputError(UnmaskError, ValueError):
    """The caller's input cannot be used."""


class OutsideError(InputError):
    """What is not ours failed, and may not fail the next time."""


class NotFittedError(UnmaskError, RuntimeError):
    """The explainer has to be fitted first."""


class TrainingError(UnmaskError, RuntimeError):
    """Training could not go on."""


class UnmaskWarning(UserWarning):
    """What a user should know before relying on a result."""


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is in no table, with the nearest name that is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
    return InputError(f"unknown {what} {name!r}; {hint}")
