"""Where lies the line between an honest and a lying choice? Development seeds, data sets and liars only.

The share threshold of `unmask.audit.verdict` is fixed from this table; benchmarks/verdicts.py then tests the rule on
other seeds with another liar.
"""

from __future__ import annotations

from typing import Any

from common import Record, rounded
from liars import Known, counted, fixed, gold, half_time, outstanding, random_units
from unmask import api
from unmask.audit.verdict import SHARE_LIMIT
from unmask.data import load
from unmask.types import Dataset, Findings

TASKS = {"digits": (8, range(100, 104)), "tumours": (4, range(100, 104)), "reviews": (3, range(100, 102))}
CANNOT_LIE = ("fixed", "outstanding", "other-random", "sequential", "gold")
ORDINARY = ("integrated-gradients", "occlusion", "gradient", "l2x")
LIARS = ("counted",)


def explanations(data: Dataset, k: int, seed: int) -> dict[str, Any]:
    """By name: references that cannot lie, ordinary methods, liars."""
    lie = counted(k, len(data.classes))
    chosen: dict[str, Any] = {
        "fixed": Known(k, fixed(seed), data),
        "other-random": Known(k, random_units, data),
        "counted": Known(k, lie, data),
        "counted-half-time": Known(k, half_time(lie, random_units), data),
    }
    if not data.layout.is_text:
        chosen["outstanding"] = Known(k, outstanding(data), data)
    ordinary = ("sequential", "integrated-gradients", "gradient", "occlusion", "l2x")
    if data.layout.is_text:  # the networks for words are slow to train; what cannot lie here is the known rationale
        chosen["gold"] = Known(k, gold(data), data)
        ordinary = ("integrated-gradients", "gradient")
    return chosen | {name: name for name in ordinary}


def measure(task: str, k: int, seed: int) -> dict[str, Any]:
    data = load(task, seed=seed)
    model = api.train_model(data, seed=seed)
    found: Findings = api.audit(model, data, explanations(data, k, seed), k=k, seed=seed).findings
    rows = {(r.explanation, r.check): r for r in found.rows}
    verdicts = {v.explanation: v.verdict for v in found.verdicts}
    null = max(0.0, rows["random", "encoding-share"].high)
    return {
        name: {
            "share": rounded(rows[name, "encoding-share"].value),
            "at least": rounded(rows[name, "encoding-share"].low),
            "above random": rounded(rows[name, "encoding-share"].value - null),
            "reading": rounded(rows[name, "reading"].value),
            "reading of random": rounded(rows[name, "reading"].null or 0.0),
            "fs-m": rounded(rows[name, "fs-m"].value),
            "leaks": rows[name, "encoding-share"].passed is False,
            "verdict": verdicts[name],
        }
        for name in verdicts
    }


def main() -> None:
    record = Record("calibration")
    for task, (k, seeds) in TASKS.items():
        for seed in seeds:
            record.entry(f"{task}:{seed}", lambda task=task, k=k, seed=seed: measure(task, k, seed))

    def excess(names: tuple[str, ...]) -> list[float]:
        all_rows = [row for entry in record.entries.values() for name, row in entry.items() if name in names]
        return sorted(row["above random"] for row in all_rows if row["above random"] is not None)

    def accused(names: tuple[str, ...]) -> str:
        rows = [row for entry in record.entries.values() for name, row in entry.items() if name in names]
        return f"{sum(row['leaks'] for row in rows)} of {len(rows)}"

    record.summary = {
        "limit": SHARE_LIMIT,
        "excess share of references that cannot lie, highest three": excess(CANNOT_LIE)[-3:],
        "excess share of liars, lowest three": excess(LIARS)[:3],
        "references accused of leaking": accused(CANNOT_LIE),
        "liars found": accused(LIARS),
        "liars in every other row found": accused(("counted-half-time",)),
        "ordinary methods accused": {name: accused((name,)) for name in ORDINARY},
    }
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
