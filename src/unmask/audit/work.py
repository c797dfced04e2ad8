"""What checks take, counted: the one table behind the sentence of `price` and the seconds of `budget`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from unmask.audit import (
    counterfactual,
    curves,
    dependence,
    exchanged,
    fragility,
    halves,
    infidelity,
    locked,
    roar,
    smuggling,
    stability,
)
from unmask.audit.baseline import ways
from unmask.audit.light import ROWS

__all__ = ["JOBS", "Size", "Work", "job_of", "planned", "works"]

EDITS = 64  # tried for a row where four units are kept
JOBS = {  # check -> what it shares with others and is done once; a check that is not here is a job of its own
    "fs-m": "kept alone",
    "sufficiency": "kept alone",
    "approximator-gap": "kept alone",
    "fu-m": "kept away",
    "comprehensiveness": "kept away",
    "encoding-gain": "matched judges",
    "encoding-share": "matched judges",
    "half-gain": "judges of halves",
    "half-share": "judges of halves",
    "half-reading": "judges of random masks",
    "reading": "neutral judges",
    "reading-nats": "neutral judges",
    "eval-x": "judges of random masks",
    "whole-rows": "judges of random masks",
    "aopc-sufficiency": "curves",
    "aopc-comprehensiveness": "curves",
    "insertion": "curves",
    "deletion": "curves",
    "infidelity-raw": "infidelity",
    "sen": "moved rows",
    "sen-legacy": "moved rows",
    "topk-overlap": "moved rows",
    "seed-stability": "other seeds",
    "seed-correlation": "other seeds",
    "counterfactual-size": "counterfactual",
    "seconds": "nothing",
    "calls": "nothing",
}


@dataclass(frozen=True)
class Size:
    """How large an audit is."""

    rows: int
    explanations: int  # controls among them
    kind: str


@dataclass(frozen=True)
class Work:
    """What a job takes: for all explanations together, but the last three for each that can be asked."""

    answers: int = 0  # rows that the model is asked about
    judges: int = 0  # trained on the judges' rows
    pairs: int = 0  # judges trained on the rows that have this explanation
    forests: int = 0
    networks: int = 0  # trained anew
    retrained: int = 0  # the model's network, without units
    copies: int = 0  # of the model, trained on shuffled labels
    moved: int = 0  # rows explained again
    astray: int = 0  # rows explained while they are led astray
    refits: int = 0


def job_of(check: str) -> str:
    return JOBS.get(check, check)


def planned(size: Size, checks: Iterable[str], light: Collection[str] = ()) -> dict[str, Work]:
    """`works` of these checks; those that are run `light` take some of the rows, and nothing is fitted again."""
    jobs = {job_of(check) for check in light} - {job_of(check) for check in checks if check not in light}
    few = works(replace(size, rows=min(size.rows, ROWS)))
    again = {job: few[job].moved + few[job].refits * min(size.rows, ROWS) for job in jobs if job in few}
    return works(size) | {job: replace(few[job], refits=0, moved=moved) for job, moved in again.items()}


def works(size: Size) -> dict[str, Work]:
    """Job -> what it usually takes; jobs that are not here ask the model or train as the usual check does."""
    n, everyone, of_text = size.rows, size.explanations, size.kind in ("words", "sentences")
    shown, paired = Work(answers=n * everyone), Work(pairs=2 * smuggling.SEEDS * everyone)
    panel, fresh = Work(judges=smuggling.SEEDS), Work(networks=everyone)
    layers, steps = Work(refits=dependence.GROUPS), len(roar.SHARES)
    return {
        "nothing": Work(),
        "kept alone": shown,
        "kept away": shown,
        "matched judges": paired,
        "judges of halves": Work(pairs=2 * 2 * halves.pairs(n) * everyone),
        "encoding-p": Work(pairs=2 * exchanged.PAIRS * (1 + exchanged.TIMES) * everyone),
        "encoding-scores": paired,
        "neutral judges": panel,
        "judges of random masks": panel,
        "mask-only": Work(forests=everyone),
        "curves": Work(answers=curves.ANSWERS * everyone * min(n, curves.ROWS)),
        "infidelity": Work(answers=infidelity.SAMPLES * min(n, infidelity.ROWS)),
        "fs-a": fresh,
        "fu-a": fresh,
        "roar": Work(retrained=steps * everyone),
        "roar-recursive": Work(retrained=steps * everyone, refits=steps - 1),
        "moved rows": Work(moved=0 if of_text else stability.DRAWS * n),
        "fragility": Work(astray=0 if of_text else fragility.TRIES * min(n, fragility.ROWS)),
        "counterfactual": Work(answers=min(counterfactual.CALLS, EDITS * n) * everyone),
        "other seeds": Work(refits=stability.REFITS),
        "randomized-model": Work(refits=dependence.REFITS),
        "permuted-labels": Work(refits=1, copies=1),
        "cascading-randomization": layers,
        "independent-randomization": layers,
        "removal-sensitivity": Work(refits=len(ways(size.kind))),
        "locked-seeds": Work(refits=locked.SEEDS),
    }
