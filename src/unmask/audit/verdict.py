"""From evidence to a verdict: one readable rule, thresholds with a reason each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unmask.types import Verdict

__all__ = [
    "ALPHA",
    "ELSEWHERE",
    "EVIDENCE",
    "HIDES",
    "KNOW",
    "ONE_SIDED",
    "SHARE_LIMIT",
    "STEADINESS",
    "STEADY",
    "SURVIVES",
    "Evidence",
    "coded",
    "decide",
    "hides",
    "ignorant",
    "leaks",
    "locked",
    "open_",
    "shifts",
    "stays",
    "survives",
    "untold",
]

ALPHA = 0.05  # family-wise error of "beats the random control", Holm over the explanations of one audit
SHARE_LIMIT = 0.25  # share of the answer told by the choice, above what random units seem to tell; calibrated:
# benchmarks/results/calibration.json has honest references on one side and liars on the other
KNOW = 0.25  # of the answer, read from whole rows: judges that read less do not know what values mean (not calibrated:
# 0.03 on 240 rows of sst2, 0.33 on 1,500; 0.8 or more on digits, tumours and adult)
SURVIVES = 0.5  # of the way from a random choice to the very same one: more than half of what another model could have
# changed has stayed; 1 for a mask that never looks at the model, 0.1 to 0.35 on digits and tumours for occlusion,
# integrated gradients and L2X
HIDES = 0.5  # of what the most decisive words do is done out of sight; calibrated: at most a third in models that were
# taught the task only, more than two thirds where attention was taught to deceive (benchmarks/results/deception.json)
ELSEWHERE = 0.03  # more often right from other units: less is what two predictors of one kind differ by anyway;
# benchmarks/interlocking.py has locked models on one side and free ones on the other
STEADY = 0.5  # of the way from a random choice to the very same one: where less stays, the choice is owed more to the
# seed, to a change nobody would notice or to the way of hiding than to the model and the row
# (not calibrated: a convention as SURVIVES. On tumours, of the way: 0.40 for L2X over seeds, 0.25 and 0.35 for
# integrated gradients and occlusion over removals; on digits 0.48 and 0.60; 0.7 or more when the input moves)
ONE_SIDED = 0.5  # spread of the per-class fs-m beyond which a sufficiency is called one-sided


EVIDENCE = {  # part of the evidence that not every audit has -> the check it comes from
    "randomized": "randomized-model",
    "cascaded": "cascading-randomization",
    "seeds": "seed-stability",
    "nearby": "topk-overlap",
    "removals": "removal-sensitivity",
    "hidden": "attention-flow",
    "elsewhere": "interlocking",
    "sealed": "exclusion",
    "quiet": "quiet-share",
    "quiet_read": "quiet-reading",
}
STEADINESS = {  # check -> what the choice is owed to where little of it stays
    "seed-stability": "when the method is fitted with another seed",
    "topk-overlap": "when the input moves a little",
    "removal-sensitivity": "when units are hidden in another way",
}


@dataclass(frozen=True)
class Evidence:
    """What the rule looks at: the report's numbers, classes counting alike where that is said, and what is sure."""

    name: str
    enough: tuple[float, float, float]  # class-balanced fs-m: value, random control's, adjusted p of "higher"
    needed: tuple[float, float, float]  # class-balanced fu-m: value, random control's, adjusted p of "lower"
    share: tuple[float, float]  # encoding share and its lower bound; nan: the explanation tells nothing
    share_null: float  # what random units seem to tell by their choice at most, as a share of what this one tells
    reading: tuple[float, float, float]  # value, random control's, lower bound of the difference in nats
    known: float = 1.0  # how much of the answer judges read from whole rows
    one_sided: str = ""  # classes between which fs-m differs too much, in words
    randomized: tuple[float, float, float] | None = None  # cosine after the model's weights were drawn anew, its lower
    # bound, the random control's; None: not run, or not possible
    cascaded: tuple[float, float, float] | None = None  # the same for layers drawn anew one after the other, at the end
    seeds: tuple[float, float, float] | None = None  # share of the choice that stays with other seeds, its upper bound,
    # the random control's
    nearby: tuple[float, float, float] | None = None  # the same when the input moves a little
    removals: tuple[float, float, float] | None = None  # the same when units are hidden in another way
    hidden: tuple[float, float, float] | None = None  # attention only: share of what decides that is done by words it
    # hides, its lower bound, that of any word; None: not run, or no attention
    elsewhere: tuple[float, float, float] | None = None  # rationale models only: how much more often a fresh predictor
    # is right from other units, its lower bound, that of a random choice
    sealed: tuple[float, float, float] | None = None  # share of rows whose answer does not depend on what is left out
    quiet: tuple[float, float, float] | None = None  # encoding share of the quiet ones of the kept units, its lower
    # bound, the random control's
    quiet_read: tuple[float, float, float] | None = None  # what those units' values tell judges in nats, lower bound
    # of the difference from random units, the random control's


def decide(e: Evidence) -> Verdict:
    """`reject` what is empty, smuggles, hides, is locked or survives random weights; `care` if the class leaks, if the
    choice shifts, or if a lock cannot be ruled out; else `trust`."""
    reasons = []
    unsteady = [text for part, text in _steadiness(e) if shifts(part)]
    leaky, read, blind = leaks(e), e.reading[2] > 0, survives(e)
    empty = e.enough[2] > ALPHA and e.needed[2] > ALPHA
    if locked(e):
        reasons.append(f"choice and prediction are locked: {_better_off(e)}")
    if open_(e):
        reasons.append(_open(e))
    if hides(e):
        reasons.append(f"the model decides by words that its attention hides: {_out_of_sight(e)}")
    if blind:
        reasons.append(f"it hardly depends on the model: {_kept_on(e)}")
    if leaky:
        reasons.append(_leak(e, read))
    if coded(e):
        reasons.append(_code(e))
    reasons += unsteady
    if empty:
        reasons.append("it beats a random choice of as many units neither in what it shows nor in what it leaves out")
    reasons += [_enough(e), _needed(e)]
    if not leaky:
        reasons.append(_honest(e))
    reasons += [text for part, text in _steadiness(e) if part is not None and not shifts(part)]
    if (e.randomized or e.cascaded) is not None and not blind:
        reasons.append(f"it depends on the model: {_kept_on(e)}")
    if e.hidden is not None and not hides(e):
        reasons.append(f"attention does not hide what decides: {_out_of_sight(e)}")
    if untold(e):
        why = f"{_better_off(e)}, for it learned too little; give it more rows (pool)"
        reasons.append(f"whether choice and prediction are locked cannot be told: {why}")
    elif e.elsewhere is not None and not locked(e):
        reasons.append(f"choice and prediction are not locked: {_better_off(e)}")
    if e.one_sided:
        reasons.append(f"the model shown this little falls to one side: {e.one_sided}")
    fatal = empty or blind or hides(e) or locked(e) or open_(e) or (leaky and not read)
    careful = leaky or coded(e) or unsteady or untold(e)
    word: Literal["trust", "care", "reject"] = "reject" if fatal else "care" if careful else "trust"
    return Verdict(e.name, word, tuple(reasons))


def _honest(e: Evidence) -> str:
    """That the choice tells little; or that it cannot be known, where random choices may seem to tell as much."""
    unknown = "whether its choice smuggles the answer cannot be told"
    share, null = e.share[0], e.share_null
    if share != share:
        return f"{unknown}: judges that see both choice and values learn next to nothing from it"
    if ignorant(e) and share - null > SHARE_LIMIT:
        why = (
            f"the model reads the units, but the judges know too little: of the answer they read {_part(e.known)} from"
        )
        return f"{unknown}: {why} whole rows; give them more rows to learn from (pool)"
    seems = f"with so few rows even random units may seem to tell {_part(null)} by their choice"
    if null > 1 - SHARE_LIMIT:
        return f"{unknown}: {seems}"
    if share - null > SHARE_LIMIT or min(share, null) > SHARE_LIMIT:  # much, and it may be chance
        return f"{unknown}: {_part(share)} of what it tells seems to be told by which units it picks, but {seems}"
    return f"{_part(share)} of what it tells is told by which units it picks: within the honest range"


def _part(share: float) -> str:
    """An estimated share in words: below 0 it is nothing, above 1 all."""
    return f"{min(1.0, max(0.0, share)):.0%}"


def leaks(e: Evidence) -> bool:
    """Whether the choice of the units tells much more than an honest choice does, and surely more than a random one."""
    share, low = e.share
    return share - e.share_null > SHARE_LIMIT and low > e.share_null and not ignorant(e)


def ignorant(e: Evidence) -> bool:
    """Whether judges know too little to blame the choice for what only they cannot read: the model can."""
    return e.known < KNOW and e.enough[2] <= ALPHA


def coded(e: Evidence) -> bool:
    """Whether the quiet ones of the kept units tell by their choice what their values do not, behind honest ones."""
    if e.quiet is None or e.quiet_read is None:
        return False
    share, low, null = e.quiet
    null = max(0.0, null) if null == null else 0.0
    return share - null > SHARE_LIMIT and low > null and e.quiet_read[1] <= 0


def survives(e: Evidence) -> bool:
    """Whether the choice stays much the same for the same model with random weights, and surely above chance."""
    return stays(e.randomized) or stays(e.cascaded)


def stays(part: tuple[float, float, float] | None) -> bool:
    """Whether more than SURVIVES of what could have changed stayed, and surely more than by chance."""
    if part is None:
        return False
    value, low, null = part
    return value - null > SURVIVES * (1 - null) and low > null


def shifts(part: tuple[float, float, float] | None) -> bool:
    """Whether surely less than STEADY of what could have changed stayed."""
    if part is None:
        return False
    _, high, null = part
    return high - null < STEADY * (1 - null)


def hides(e: Evidence) -> bool:
    """Whether most of what decides is done by words that attention hides, and surely more than it hides any words."""
    return e.hidden is not None and e.hidden[0] > HIDES and e.hidden[1] > e.hidden[2]


def locked(e: Evidence) -> bool:
    """Whether a predictor that may read other units is right more often, and surely so."""
    return e.elsewhere is not None and e.elsewhere[0] > ELSEWHERE and e.elsewhere[1] > 0


def untold(e: Evidence) -> bool:
    """Whether the fresh predictor is no measure: worse than the model, and none the better for choosing its units."""
    return e.elsewhere is not None and e.elsewhere[0] < -ELSEWHERE and e.elsewhere[2] <= ELSEWHERE


def open_(e: Evidence) -> bool:
    """Whether an answer that should be told from the rationale alone depends on the rest."""
    return e.sealed is not None and e.sealed[0] < 1


def _better_off(e: Evidence) -> str:
    value = e.elsewhere[0] if e.elsewhere else 0.0
    how = f"{value:.0%} more often right" if value > 0 else f"right no more often ({value:+.0%})"
    return f"a fresh predictor that may read other units is {how}"


def _open(e: Evidence) -> str:
    share = 1 - e.sealed[0] if e.sealed else 0.0
    return f"the answer is not told from the rationale alone: in {share:.0%} of the rows what is left out changes it"


def _out_of_sight(e: Evidence) -> str:
    value, _, null = e.hidden or (0.0, 0.0, 0.0)
    return (
        f"{value:.0%} of what the most decisive words do is done by words that get less than a tenth of the attention "
        f"that others get in their place ({null:.0%} for words drawn at random)"
    )


def _steadiness(e: Evidence) -> list[tuple[tuple[float, float, float] | None, str]]:
    """Each sort of steadiness, and what is said of it."""
    found = []
    for part, check in zip((e.seeds, e.nearby, e.removals), STEADINESS, strict=True):
        value, _, null = part or (0.0, 0.0, 0.0)
        how = "it is not stable" if shifts(part) else "it is stable"
        if check == "removal-sensitivity":
            how = "it depends on the baseline" if shifts(part) else "it does not hang on the baseline"
        found.append((part, f"{how}: {value:.0%} of the choice stays {STEADINESS[check]} (by chance {null:.0%})"))
    return found


def _kept_on(e: Evidence) -> str:
    value, _, null = (e.cascaded if stays(e.cascaded) else e.randomized or e.cascaded) or (0.0, 0.0, 0.0)
    return f"with the model's weights drawn anew, {value:.0%} of the choice stays (by chance {null:.0%})"


def _enough(e: Evidence) -> str:
    value, null, p = e.enough
    held = "more than" if p <= ALPHA else "not reliably more than"
    said = (
        f"shown only what it keeps, the model gives the same answer in {value:.0%} of the rows, classes counting alike"
    )
    return f"{said}, {held} with random units ({null:.0%})"


def _needed(e: Evidence) -> str:
    value, null, p = e.needed
    held = "less than" if p <= ALPHA else "not reliably less than"
    said = f"with it taken away, the answer stays in {value:.0%} of the rows"
    return f"{said}, {held} when random units are taken away ({null:.0%})"


def _leak(e: Evidence, read: bool) -> str:
    told = f"{_part(e.share[0])} of what it tells is told by which units it picks, not by their values"
    value, null, _ = e.reading
    level = f"({value:.0%} right, {null:.0%} from random units)"
    if read:
        return f"it leaks the class: {told}; the values still tell a neutral judge something {level}"
    return f"it smuggles the answer: {told}; a neutral judge reads the values no better than random ones {level}"


def _code(e: Evidence) -> str:
    share, (value, _, null) = (e.quiet or (0.0,))[0], e.quiet_read or (0.0, 0.0, 0.0)
    return (
        f"a part of it smuggles: of what the quiet ones of its units tell, {_part(share)} is told by "
        "which units they are, and a judge reads their values no better than random ones "
        f"({value:.2f} nats, {null:.2f} from random units)"
    )
