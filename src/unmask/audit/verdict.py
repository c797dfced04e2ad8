"""From evidence to a verdict: one readable rule."""

from __future__ import annotations

from typing import Literal

from unmask.audit import sentences as say
from unmask.audit.evidence import (
    ALPHA,
    Evidence,
    coded,
    flattered,
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
    choice shifts, or if smuggling or a lock cannot be ruled out; else `trust`."""
    reasons = []
    unsteady = [text for part, text in say.steadiness(e) if shifts(part)]
    leaky, read, blind = leaks(e), e.reading[2] > 0, survives(e)
    empty = e.enough[2] > ALPHA and e.needed[2] > ALPHA
    if locked(e):
        reasons.append(f"choice and prediction are locked: {say.better_off(e)}")
    if open_(e):
        reasons.append(say.opened(e))
    if hides(e):
        reasons.append(f"the model decides by words that its attention hides: {say.out_of_sight(e)}")
    if blind:
        reasons.append(f"it hardly depends on the model: {say.kept_on(e)}")
    if leaky:
        reasons.append(say.leak(e, read))
    elif unsettled(e):
        reasons.append(say.smuggling_untold(e))
    if coded(e):
        reasons.append(say.code(e))
    reasons += unsteady
    if empty:
        reasons.append("it beats a random choice of as many units neither in what it shows nor in what it leaves out")
    reasons += [say.enough(e), say.needed(e)]
    if not leaky and not unsettled(e):
        reasons.append(say.honest(e))
    reasons += [text for part, text in say.steadiness(e) if part is not None and not shifts(part)]
    if (e.randomized or e.cascaded) is not None and not blind:
        reasons.append(f"it depends on the model: {say.kept_on(e)}")
    if e.hidden is not None and not hides(e):
        reasons.append(f"attention does not hide what decides: {say.out_of_sight(e)}")
    if untold(e):
        reasons.append(say.lock_untold(e))
    elif e.elsewhere is not None and not locked(e):
        reasons.append(f"choice and prediction are not locked: {say.better_off(e)}")
    if flattered(e):
        reasons.append(say.flattery(e))
    if e.one_sided:
        reasons.append(f"the model shown this little falls to one side: {e.one_sided}")
    fatal = empty or blind or hides(e) or locked(e) or open_(e) or (leaky and not read)
    careful = leaky or coded(e) or unsteady or unsettled(e) or untold(e)
    word: Literal["trust", "care", "reject"] = "reject" if fatal else "care" if careful else "trust"
    return Verdict(e.name, word, tuple(reasons))
