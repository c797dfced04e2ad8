"""What is said of the evidence, in plain words."""

from __future__ import annotations

from unmask.audit.evidence import ALPHA, SHARE_LIMIT, STEADINESS, Evidence, ignorant, shifts

__all__ = [
    "better_off",
    "code",
    "enough",
    "flattery",
    "half_untold",
    "honest",
    "kept_on",
    "leak",
    "lock_untold",
    "needed",
    "opened",
    "out_of_sight",
    "smuggling_untold",
    "steadiness",
    "unseen",
]

LITTLE = 0.05  # what random units may seem to tell, not worth a word


def honest(e: Evidence) -> str:
    """That the choice tells little."""
    return f"{_part(e.share[0])} of what it tells is told by which units it picks: within the honest range"


def smuggling_untold(e: Evidence) -> str:
    """That the choice may tell the answer, and nobody can say: why."""
    unknown = "whether its choice smuggles the answer cannot be told"
    share, null = e.share[0], e.share_null
    if share != share:
        return f"{unknown}: judges that see both choice and values learn next to nothing from it"
    if ignorant(e):
        why = f"the judges know too little: of the answer they read {_part(e.known)} from whole rows"
        return f"{unknown}: {why}; give them more rows to learn from (pool)"
    seems = f"with so few rows even random units may seem to tell {_part(null)} by their choice"
    if null > 1 - SHARE_LIMIT:
        return f"{unknown}: {seems}"
    but = f"with so few rows it may be {_part(e.share[1])} as well" if null < LITTLE else seems
    return f"{unknown}: {_part(share)} of what it tells seems to be told by which units it picks, but {but}"


def _part(share: float) -> str:
    """An estimated share in words: below 0 it is nothing, above 1 all."""
    return f"{min(1.0, max(0.0, share)):.0%}"


def better_off(e: Evidence) -> str:
    """How a fresh predictor does that may choose its units."""
    value = e.elsewhere[0] if e.elsewhere else 0.0
    how = f"{value:.0%} more often right" if value > 0 else f"right no more often ({value:+.0%})"
    return f"a fresh predictor that may choose its units is {how} than anybody from these"


def lock_untold(e: Evidence) -> str:
    """That choice and prediction may be locked, and nobody can say."""
    why = f"{better_off(e)}, for it learned too little; give it more rows (pool)"
    return f"whether choice and prediction are locked cannot be told: {why}"


def opened(e: Evidence) -> str:
    """That what is left out has a say in the answer."""
    share = 1 - e.sealed[0] if e.sealed else 0.0
    return f"the answer is not told from the rationale alone: in {share:.0%} of the rows what is left out changes it"


def out_of_sight(e: Evidence) -> str:
    """How much of what decides attention hides."""
    value, _, null = e.hidden or (0.0, 0.0, 0.0)
    return (
        f"{value:.0%} of what the most decisive words do is done by words that get less than a tenth of the attention "
        f"that others get in their place ({null:.0%} for words drawn at random)"
    )


def steadiness(e: Evidence) -> list[tuple[tuple[float, float, float] | None, str]]:
    """Each sort of steadiness, and what is said of it."""
    found = []
    for part, check in zip((e.seeds, e.nearby, e.removals), STEADINESS, strict=True):
        value, _, null = part or (0.0, 0.0, 0.0)
        how = "it is not stable" if shifts(part) else "it is stable"
        if check == "removal-sensitivity":
            how = "it depends on the baseline" if shifts(part) else "it does not hang on the baseline"
        found.append((part, f"{how}: {value:.0%} of the choice stays {STEADINESS[check]} (by chance {null:.0%})"))
    return found


def unseen(e: Evidence) -> list[str]:
    """What was not looked at, and what could not be."""
    parts = ((e.unasked, "not looked at"), (e.barred, "could not be looked at"))
    return [f"{how}: {', '.join(questions)}" for questions, how in parts if questions]


def kept_on(e: Evidence) -> str:
    """How much of the choice stays when the model knows nothing any more."""
    value, _, null = e.randomized or e.cascaded or (0.0, 0.0, 0.0)
    return f"with the model's weights drawn anew, {value:.0%} of the choice stays (by chance {null:.0%})"


def enough(e: Evidence) -> str:
    """What the model makes of the kept units alone."""
    value, null, p = e.enough
    held = "more than" if p <= ALPHA else "not reliably more than"
    said = (
        f"shown only what it keeps, the model gives the same answer in {value:.0%} of the rows, classes counting alike"
    )
    return f"{said}, {held} with random units ({null:.0%})"


def needed(e: Evidence) -> str:
    """What the model makes of all the others."""
    value, null, p = e.needed
    held = "less than" if p <= ALPHA else "not reliably less than"
    said = f"with it taken away, the answer stays in {value:.0%} of the rows"
    return f"{said}, {held} when random units are taken away ({null:.0%})"


def leak(e: Evidence, read: bool) -> str:
    """That the choice tells what the values do not; `read`: the values tell something too."""
    part = f"{_part(e.share[0])} of what it tells is told by which units it picks, not by their values"
    (value, null, _), (own, chance) = e.reading, e.nats
    level = f"({own:.2f} nats, {chance:.2f} from random units; {value:.0%} and {null:.0%} right)"
    if read:
        return f"it leaks the class: {part}; the values still tell a neutral judge something {level}"
    return f"it smuggles the answer: {part}; a neutral judge reads the values no better than random ones {level}"


def code(e: Evidence) -> str:
    """That one half of the selection is a code, beside an honest one."""
    share, (value, _, null) = (e.half or (0.0,))[0], e.half_read or (0.0, 0.0, 0.0)
    return (
        f"a part of it smuggles: of what one half of its units tells, {_part(share)} is told by which units they are, "
        f"and a judge reads their values no better than random ones ({value:.2f} nats, {null:.2f} from random units)"
    )


def half_untold(e: Evidence) -> str:
    """That one half of the selection may be a code, and nobody can say."""
    (share, low, null), (value, _, chance) = e.half or (0.0,) * 3, e.half_read or (0.0,) * 3
    chancy = f"so may {_part(null)} of what random units tell"
    but = f"with so few rows it may be {_part(low)} as well" if null < LITTLE else chancy
    return (
        f"whether a part of it smuggles the answer cannot be told: of what one half of its units tells, {_part(share)} "
        f"seems to be told by which units they are, but {but}, and a judge reads their values no better than random "
        f"ones ({value:.2f} nats, {chance:.2f} from random units)"
    )


def flattery(e: Evidence) -> str:
    """That its own judge reads more in it than others do."""
    return (
        f"the judge it was trained with finds the answer in {e.own_judge[0]:.0%} of its selections, judges that it "
        f"never met in {e.reading[0]:.0%}: it suits its own judge"
    )
