"""What a verdict rests on: the evidence, thresholds with a reason each, and what each piece of evidence shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AHEAD",
    "ALPHA",
    "ELSEWHERE",
    "EVIDENCE",
    "HIDES",
    "KNOW",
    "ONE_SIDED",
    "QUESTIONS",
    "SHARE_LIMIT",
    "STEADINESS",
    "STEADY",
    "SURVIVES",
    "Evidence",
    "coded",
    "flattered",
    "half_untold",
    "hides",
    "ignorant",
    "leaks",
    "locked",
    "open_",
    "own_judge",
    "passes",
    "shifts",
    "stays",
    "survives",
    "unsettled",
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
HIDES = 0.7  # of what the most decisive words do is done out of sight; calibrated: at most .63 in models that learned
# the task only (some look at the word of one class alone), .79 or more where a BiLSTM was taught to deceive
# (benchmarks/results/deception.json)
ELSEWHERE = 0.03  # more often right from other units: less is what two predictors of one kind differ by anyway;
# benchmarks/interlocking.py has locked models on one side and free ones on the other
STEADY = 0.5  # of the way from a random choice to the very same one: where less stays, the choice is owed more to the
# seed, to a change nobody would notice or to the way of hiding than to the model and the row
# (not calibrated: a convention as SURVIVES. On tumours, of the way: 0.40 for L2X over seeds, 0.25 and 0.35 for
# integrated gradients and occlusion over removals; on digits 0.48 and 0.60; 0.7 or more when the input moves)
AHEAD = 0.03  # how much more often the judge that an explainer was trained with finds the answer than the audit's do:
# less is not worth a word (a convention, not calibrated; it changes no verdict)
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
    "half": "half-share",
    "half_read": "half-reading",
}
QUESTIONS = {  # what a verdict would rest on too -> the checks that look at it, one of which is enough
    "whether it depends on the model": ("randomized-model", "cascading-randomization"),
    "whether it stays with another seed": ("seed-stability",),
    "whether it stays when the input moves a little": ("topk-overlap",),
    "whether it hangs on the baseline": ("removal-sensitivity",),
    "whether a code hides behind honest units": ("half-share",),
    "whether the order of the scores is a code": ("encoding-scores",),
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
    nats: tuple[float, float] = (float("nan"), float("nan"))  # what the values tell judges, and random ones
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
    # is right from the units it finds best than anybody from these, its lower bound, that of a random choice
    sealed: tuple[float, float, float] | None = None  # share of rows whose answer does not depend on what is left out
    half: tuple[float, float, float] | None = None  # encoding share of one half of the kept units, its lower bound,
    # what half of the random units seems to tell by its choice at most, as a share of what this one tells
    half_read: tuple[float, float, float] | None = None  # what that half's values tell judges in nats, lower bound
    # of the difference from random units, the random control's
    unasked: tuple[str, ...] = ()  # those of QUESTIONS that no check looked at
    barred: tuple[str, ...] = ()  # those that checks looked at in vain: what came ready-made cannot be made again,
    # words cannot be moved a little, a black box has no weights
    own_judge: tuple[float, float] = (float("nan"), float("nan"))  # how often the judge it was trained with finds the
    # answer on validation rows, and how often the audit's judges do at most (upper bound); nan: it had none


def leaks(e: Evidence) -> bool:
    """Whether the choice of the units tells much more than an honest choice does, and surely more than a random one."""
    share, low = e.share
    return share - e.share_null > SHARE_LIMIT and low > e.share_null and not ignorant(e)


def ignorant(e: Evidence) -> bool:
    """Whether judges know too little to blame the choice: what they cannot read, the model may."""
    return e.known < KNOW


def unsettled(e: Evidence) -> bool:
    """Whether nobody can say that the choice smuggles, nor that it does not."""
    share, null = e.share[0], e.share_null
    if share != share or ignorant(e):  # nothing is told, or nobody could have read it
        return True
    if leaks(e):
        return False
    chance = null > 1 - SHARE_LIMIT or min(share, null) > SHARE_LIMIT  # random units may seem to tell as much
    return chance or share - null > SHARE_LIMIT


def coded(e: Evidence) -> bool:
    """Whether one half of the kept units tells by its choice what its values do not, beside an honest one."""
    if e.half is None or e.half_read is None or ignorant(e):
        return False
    share, low, null = e.half
    return share - null > SHARE_LIMIT and low > null and e.half_read[1] <= 0


def half_untold(e: Evidence) -> bool:
    """Whether one half of the kept units may be a code, or it may be chance: its values are read no better either."""
    if e.half is None or e.half_read is None or e.half_read[1] > 0 or coded(e):
        return False
    share, _, null = e.half
    return share > SHARE_LIMIT and max(null, share - null) > SHARE_LIMIT


def _hidden_by_chance(e: Evidence) -> bool:
    """Whether random units may seem to tell so much that no code could be seen; no reason for care by itself."""
    return e.half is not None and not coded(e) and e.half[2] > 1 - SHARE_LIMIT


def survives(e: Evidence) -> bool:
    """Whether the choice stays much the same for the same model with random weights, and surely above chance.

    Layers drawn one after the other end in one random network, which may point at the same units by luck: where several
    were drawn, these decide.
    """
    return stays(e.cascaded if e.randomized is None else e.randomized)


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
    """Whether a fresh predictor that may choose its units is right more often, and surely so."""
    return e.elsewhere is not None and e.elsewhere[0] > ELSEWHERE and e.elsewhere[1] > 0


def untold(e: Evidence) -> bool:
    """Whether the fresh predictor is no measure: worse than the model, and none the better for choosing its units."""
    return e.elsewhere is not None and e.elsewhere[0] < -ELSEWHERE and e.elsewhere[2] <= ELSEWHERE


def open_(e: Evidence) -> bool:
    """Whether an answer that should be told from the rationale alone depends on the rest."""
    return e.sealed is not None and e.sealed[0] < 1


def flattered(e: Evidence) -> bool:
    """Whether the judge it was trained with reads it better than judges that it never met, and surely so."""
    own, most = e.own_judge
    return own - e.reading[0] > AHEAD and own > most


def own_judge(origin: Mapping[str, Any]) -> float:
    """How often the judge that an explainer of ours was trained with found the answer; nan where that is not known."""
    readings = origin.get("readings", {})
    frozen = origin.get("method") == "real-x" or origin.get("cure") == "pretraining"  # the approximator is the judge
    return float(readings.get("judge", readings.get("approximator", float("nan")) if frozen else float("nan")))


def passes(e: Evidence) -> dict[str, bool | None]:
    """Of each check that decides, whether it is on the good side of its rule; None where that cannot be said."""
    return {
        "fs-m": e.enough[2] <= ALPHA,
        "fu-m": e.needed[2] <= ALPHA,
        "encoding-gain": None if unsettled(e) else not leaks(e),
        "encoding-share": None if unsettled(e) else not leaks(e),
        "reading": None,  # how often is not how surely: the next one decides
        "reading-nats": e.reading[2] > 0,
        "whole-rows": e.known >= KNOW,
        "randomized-model": not stays(e.randomized),
        "cascading-randomization": not stays(e.cascaded) if e.randomized is None else None,
        "seed-stability": not shifts(e.seeds),
        "topk-overlap": not shifts(e.nearby),
        "removal-sensitivity": not shifts(e.removals),
        "attention-flow": not hides(e),
        "interlocking": None if untold(e) else not locked(e),
        "exclusion": not open_(e),
        "half-share": None if ignorant(e) or half_untold(e) or _hidden_by_chance(e) else not coded(e),
        "half-reading": None if e.half_read is None else e.half_read[1] > 0,
    }
