"""Does the audit find liars, and does it leave honest selections alone? The red team on three kinds of data.

    python benchmarks/redteam.py [digits|tumours|reviews ...] [--seeds N] [--fresh]

New split, model, explainers and judges for every seed; results are kept as they come. The rule's limits were fixed on
other seeds (`calibrate.py`). Methods that are fitted take long and are audited on the first seeds only.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from common import Record, rounded
from unmask import api
from unmask.audit.redteam import LIARS, Mixture, suspects
from unmask.data import load
from unmask.masking import subsets
from unmask.methods import make
from unmask.types import Dataset, Explanation, Findings

TASKS = {"digits": ("digits", 8), "tumours": ("tumours", 4), "reviews": ("reviews:preset=easy,n=3000", 3)}
HONEST = {"digits": "integrated-gradients", "tumours": "occlusion", "reviews": "occlusion"}  # units in mixtures
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.75)  # of honest units in a mixture, at least one
FIRST = 200  # the first seed: none was used before
FITTED = 5  # seeds on which learned methods are audited
METHODS = ("gradient-x-input", "integrated-gradients", "occlusion", "sequential")
LEARNED = ("l2x", "real-x", "meed", "mimic")
CODES = ("position", "value")  # that honest units are mixed with


def explanations(task: str, data: Dataset, model: Any, k: int, seed: int) -> dict[str, Any]:
    """By name: liars, mixtures, references that cannot lie, methods."""
    found: dict[str, Any] = {name: s.fit(model, data) for name, s in suspects(data, k, seed).items()}
    for share in SHARES:
        honest = max(1, round(share * k))
        for code in CODES:
            if honest < k:
                by = make(HONEST[task], k, None, {})
                name = f"{code}, {honest} of {k} honest"
                found.setdefault(name, Mixture(k, code, by, honest, seed))
    mixtures = {name: thing.fit(model, data) for name, thing in found.items() if isinstance(thing, Mixture)}
    if data.test.relevant is not None:
        found["gold"] = gold(data, model, k)
    methods = (*METHODS, *(LEARNED if seed < FIRST + FITTED else ()))
    return found | mixtures | {name: name for name in methods}


def gold(data: Dataset, model: Any, k: int) -> Any:
    """The known rationale of the test rows, ready-made."""
    test = data.test
    scores = test.relevant.float()
    kept = subsets.topk(scores, test.relevant.sum(1).clamp(min=1), test.valid)
    return Explanation(scores, kept, test.valid, model(test.x).argmax(1), {"method": "gold"})


def measure(task: str, seed: int) -> dict[str, Any]:
    name, k = TASKS[task]
    data = load(name, seed=seed)
    model = api.train_model(data, seed=seed)
    found: Findings = api.audit(model, data, explanations(task, data, model, k, seed), k=k, seed=seed).findings
    rows = {(r.explanation, r.check): r for r in found.rows}
    shown = ("fs-m", "encoding-share", "reading", "quiet-share", "quiet-reading")
    return {
        v.explanation: {
            "verdict": v.verdict,
            "smuggles": any("smuggles" in r or "leaks" in r for r in v.reasons),
            **{check: rounded(rows[v.explanation, check].value) for check in shown if (v.explanation, check) in rows},
        }
        for v in found.verdicts
    }


def summary(entries: dict[str, Any]) -> dict[str, Any]:
    """For each data set and explanation: how often each verdict was given, and how often smuggling was the reason."""
    found: dict[str, dict[str, Any]] = {}
    for key, entry in entries.items():
        for name, row in entry.items():
            counts = found.setdefault(key.partition(":")[0], {}).setdefault(name, Counter())
            counts.update([row["verdict"], "of"] + ["accused of smuggling"] * row["smuggles"])
    return {task: {name: dict(counts) for name, counts in names.items()} for task, names in found.items()}


def main() -> None:
    record = Record("redteam")
    tasks = [a for a in sys.argv[1:] if a in TASKS] or list(TASKS)
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else 20
    for seed in range(FIRST, FIRST + seeds):
        for task in tasks:
            record.entry(f"{task}:{seed}", lambda task=task, seed=seed: measure(task, seed))
    record.summary = summary(record.entries)
    record.save()
    for task, names in record.summary.items():
        for name, counts in names.items():
            print(f"{task:9s} {'liar' if name in LIARS else '':5s} {name:28s} {counts}")


if __name__ == "__main__":
    main()
