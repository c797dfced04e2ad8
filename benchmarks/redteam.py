"""Does the audit find liars, and does it leave honest selections alone? The red team on three kinds of data.

    python benchmarks/redteam.py [digits|tumours|reviews] [--first SEED] [--seeds N] [--fresh]
    python benchmarks/redteam.py --render

New split, model, explainers and judges for every seed; the rule's limits were fixed on other seeds (docs/encoding.md).
Each data set has a file of results of its own, so that several can run side by side, with an entry for each seed and
explanation: what is there is not audited again, and an audit that was cut short goes on where it stopped. (Two runs of
the same data need a checkout each: a file of results has one writer.) Methods that are fitted take long and are audited
on the first seeds only. `--render` writes docs/redteam.md and its picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import common
from common import Record, rounded
from unmask import api
from unmask.audit import HALVES, suite
from unmask.audit.case import digest
from unmask.audit.redteam import LIARS, REFERENCES, Mixture, Suspect, suspects
from unmask.data import load
from unmask.masking import subsets
from unmask.methods import make
from unmask.types import Dataset, Explainer, Explanation, Findings

TASKS = {"digits": ("digits", 8), "tumours": ("tumours", 4), "reviews": ("reviews:preset=easy,n=1000", 4)}
HONEST = {"digits": "integrated-gradients", "tumours": "occlusion", "reviews": "occlusion"}  # units in mixtures
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.75)  # of honest units in a mixture, at least one
FIRST = {"digits": 210, "tumours": 250, "reviews": 230}  # the first seeds: none had been looked at when they were run
BEFORE = 300  # seeds from here on set the rules for halves and how judges learn
FITTED = {"digits": 5, "tumours": 5, "reviews": 5}  # seeds on which learned methods are audited
METHODS = ("gradient-x-input", "integrated-gradients", "occlusion")
LEARNED = ("l2x", "real-x", "meed", "mimic")
CODES = ("position",)  # that honest units are mixed with, few to many; with other codes half
UNMIXED = ("order",)  # behind honest units it is their order, which has a check of its own (encoding-scores)
SHOWN = ("fs-m", "encoding-gain", "encoding-share", "reading", "whole-rows", *HALVES)
ACCUSED = ("it smuggles", "it leaks", "a part of it smuggles")  # how such reasons begin
UNTOLD = ("whether its choice smuggles the answer cannot", "whether a part of it smuggles the answer cannot")

LASTING = ("eval-x", "encoding", "encoding of a half")  # what judges found that hangs on the rows and one selection

Entry = dict[str, Any]


def names(task: str, data: Dataset, seed: int) -> dict[str, tuple[str, ...]]:
    """What is audited, by sort; each sort in an audit of its own."""
    k = TASKS[task][1]
    honest = sorted({max(1, round(share * k)) for share in SHARES} - {k})
    there = suspects(data, k)
    others = [code for code in LIARS if code in there and code not in (*CODES, *UNMIXED)]
    gold = () if data.test.relevant is None else ("gold",)
    return {
        "liar": tuple(name for name in there if name in LIARS),
        "mixture": (
            *(f"{code}, {n} of {k} honest" for code in CODES for n in honest),
            *(f"{code}, {k // 2} of {k} honest" for code in others),
        ),
        "reference": (*(name for name in there if name in REFERENCES), "sequential", *gold),
        "method": (*METHODS, *(LEARNED if seed < FIRST[task] + FITTED[task] else ())),
    }


class Once:
    """A fitted explainer that explains the same rows once: every mixture of a seed has the same honest units."""

    def __init__(self, by: Explainer) -> None:
        self.by, self.found = by, dict[str, Explanation]()

    def clone(self) -> Once:
        return self

    def fit(self, model: Any, data: Dataset) -> Once:
        return self

    def explain(self, x: Any, target: Any = None) -> Explanation:
        rows = digest(x, target)
        if rows not in self.found:
            self.found[rows] = self.by.explain(x, target)
        return self.found[rows]


def made(name: str, task: str, data: Dataset, model: Any, seed: int, honest: Once) -> Any:
    """The explanation of that name; methods are named to the audit, which fits them."""
    k = TASKS[task][1]
    if name in (LIARS | REFERENCES):
        return Suspect(k, name, seed).fit(model, data)
    if name.endswith("honest"):
        code, _, rest = name.partition(", ")
        return Mixture(k, code, honest, int(rest.split()[0]), seed).fit(model, data)
    return gold(data, model) if name == "gold" else name


def gold(data: Dataset, model: Any) -> Explanation:
    """The known rationale of the test rows, ready-made."""
    test = data.test
    scores = test.relevant.float()
    kept = subsets.topk(scores, test.relevant.sum(1).clamp(min=1), test.valid)
    return Explanation(scores, kept, test.valid, model(test.x).argmax(1), {"method": "gold"})


def measure(record: Record, task: str, seed: int) -> None:
    """Audit what the record lacks of this seed, sort by sort."""
    spec, k = TASKS[task]
    data = load(spec, seed=seed)
    wanted = {
        sort: [name for name in every if f"{task}:{seed}:{name}" not in record.entries]
        for sort, every in names(task, data, seed).items()
    }
    if not any(wanted.values()):
        return
    model = api.train_model(data, seed=seed)
    known: dict[Any, Any] = {}
    honest = Once(make(HONEST[task], k, None, {}).fit(model, data))
    for sort, missing in wanted.items():
        if not missing:
            continue
        given = {name: made(name, task, data, model, seed, honest) for name in missing}
        memo = common.RESULTS / f"redteam-{task}-{seed}-{sort}.memo"
        checks = ("fs-m",) if sort == "liar" else HALVES
        with remembered(known):
            found = api.audit(model, data, given, k=k, seed=seed, checks=checks, resume=memo).findings
        for name, entry in entries(found, sort).items():
            record.entry(f"{task}:{seed}:{name}", lambda entry=entry: entry)


@contextmanager
def remembered(known: dict[Any, Any]) -> Iterator[None]:
    """Inside, an audit takes from `known` what judges found of the same selections (the controls) on the same rows."""
    usual = suite.assemble
    for key in [key for key in known if (key if isinstance(key, str) else key[0]) not in LASTING]:
        del known[key]
    suite.assemble = lambda *given: replace(usual(*given), memory=known)
    try:
        yield
    finally:
        suite.assemble = usual


def entries(found: Findings, sort: str) -> dict[str, Entry]:
    """By explanation: its verdict, what it is accused of, the numbers and its excess share, the score of the curve."""
    rows = {(r.explanation, r.check): r for r in found.rows if r.at is None}
    return {
        v.explanation: {
            "sort": sort,
            "verdict": v.verdict,
            "smuggles": any(r.startswith(ACCUSED) for r in v.reasons),
            "untold": any(r.startswith(UNTOLD) for r in v.reasons),
            "excess": rounded(excess(rows[v.explanation, "encoding-share"])),
            **{check: rounded(rows[v.explanation, check].value) for check in SHOWN if (v.explanation, check) in rows},
        }
        for v in found.verdicts
        if v.explanation not in found.controls
    }


def excess(share: Any) -> float:
    """The share above what random units may seem to tell, as the rule has it; 0 where nothing is told."""
    return float(share.value - share.null) if share.value == share.value else 0.0


def rates(some: Iterable[Entry]) -> Entry:
    """How often each verdict was given, and how often smuggling was the reason or could not be told."""
    rows = list(some)
    words = {word: sum(row["verdict"] == word for row in rows) for word in ("trust", "care", "reject")}
    return {
        "of": len(rows),
        **words,
        "accused of smuggling": sum(row["smuggles"] for row in rows),
        "cannot be told": sum(row["untold"] for row in rows),
    }


def summary(all_entries: dict[str, Entry]) -> dict[str, Any]:
    """For each explanation its sort and its rates over the seeds."""
    by: dict[str, list[Entry]] = {}
    for key, entry in all_entries.items():
        by.setdefault(key.split(":", 2)[2], []).append(entry)
    return {name: {"sort": rows[0]["sort"], **rates(rows)} for name, rows in by.items()}


def option(name: str, usual: int) -> int:
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else usual


def main() -> None:
    if "--render" in sys.argv:
        from redteam_page import render

        render()
        return
    tasks = [a for a in sys.argv[1:] if a in TASKS] or list(TASKS)
    for task in tasks:
        first, seeds = option("--first", FIRST[task]), option("--seeds", 20)
        if first < FIRST[task]:
            sys.exit(f"seeds of {task} below {FIRST[task]} were used to set the rule; got --first {first}")
        if first + seeds > BEFORE:
            sys.exit(f"seeds from {BEFORE} on were used to set the rule; got --first {first} --seeds {seeds}")
        record = Record(f"redteam-{task}")
        for seed in range(first, first + seeds):
            measure(record, task, seed)
        record.summary = summary(record.entries)
        record.save()
        for name, counts in record.summary.items():
            print(f"{task:9s} {name:28s} {counts}")


if __name__ == "__main__":
    main()
