"""From evidence to a verdict: one readable rule."""

from __future__ import annotations

from typing import Literal

from unmask.audit import sentences as say
from unmask.audit.evidence import (
    ALPHA,
    Evidence,
    coded,
    flattered,
    half_untold,
    hides,
    leaks,
    locked,
    open_,
    shifts,
    survives,
    unsettled,
    untold,
)
from unmask.types import Verdict

__all__ = ["decide"]


def decide(e: Evidence) -> Verdict:
    """`reject` what is empty, smuggles, hides, is locked or survives random weights; `care` if the class leaks, if the
    choice shifts, or if smuggling, of a part too, or a lock cannot be ruled out; else `trust`."""
    fatal = _empty(e) or survives(e) or hides(e) or locked(e) or open_(e) or (leaks(e) and not _read(e))
    careful = leaks(e) or coded(e) or _unsteady(e) or unsettled(e) or half_untold(e) or untold(e)
    word: Literal["trust", "care", "reject"] = "reject" if fatal else "care" if careful else "trust"
    unseen = () if fatal else say.unseen(e)
    return Verdict(e.name, word, (*_against(e), say.enough(e), say.needed(e), *_for(e), *_besides(e), *unseen))


def _empty(e: Evidence) -> bool:
    return e.enough[2] > ALPHA and e.needed[2] > ALPHA


def _read(e: Evidence) -> bool:
    """Whether the values tell a neutral judge more than random ones do."""
    return e.reading[2] > 0


def _unsteady(e: Evidence) -> list[str]:
    return [text for part, text in say.steadiness(e) if shifts(part)]


def _against(e: Evidence) -> list[str]:
    reasons = []
    if locked(e):
        reasons.append(f"choice and prediction are locked: {say.better_off(e)}")
    if open_(e):
        reasons.append(say.opened(e))
    if hides(e):
        reasons.append(f"the model decides by words that its attention hides: {say.out_of_sight(e)}")
    if survives(e):
        reasons.append(f"it hardly depends on the model: {say.kept_on(e)}")
    if leaks(e):
        reasons.append(say.leak(e, _read(e)))
    if coded(e) and not leaks(e):
        reasons.append(say.code(e))
    if unsettled(e):
        reasons.append(say.smuggling_untold(e))
    elif half_untold(e) and not leaks(e):
        reasons.append(say.half_untold(e))
    reasons += _unsteady(e)
    if untold(e):
        reasons.append(say.lock_untold(e))
    if _empty(e):
        reasons.append("it beats a random choice of as many units neither in what it shows nor in what it leaves out")
    return reasons


def _for(e: Evidence) -> list[str]:
    reasons = []
    if not leaks(e) and not unsettled(e):
        reasons.append(say.honest(e))
    reasons += [text for part, text in say.steadiness(e) if part is not None and not shifts(part)]
    if (e.randomized or e.cascaded) is not None and not survives(e):
        reasons.append(f"it depends on the model: {say.kept_on(e)}")
    if e.hidden is not None and not hides(e):
        reasons.append(f"attention does not hide what decides: {say.out_of_sight(e)}")
    if e.elsewhere is not None and not locked(e) and not untold(e):
        reasons.append(f"choice and prediction are not locked: {say.better_off(e)}")
    return reasons


def _besides(e: Evidence) -> list[str]:
    reasons = []
    if flattered(e):
        reasons.append(say.flattery(e))
    if e.one_sided:
        reasons.append(f"the model shown this little falls to one side: {e.one_sided}")
    return reasons
