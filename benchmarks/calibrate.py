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
from unmask.types import Dataset, Explanation, Findings

TASKS = {"digits": (8, range(100, 103)), "tumours": (4, range(100, 103))}
CANNOT_LIE = ("fixed", "outstanding", "other-random", "other-random, given as an array", "sequential", "gold")
ORDINARY = ("integrated-gradients", "occlusion", "gradient", "l2x")
LIARS = ("counted", "counted, given as an array")


def as_array(known: Known, data: Dataset, model: Any) -> Explanation:
    """The same selection of the test rows, ready-made: the audit cannot ask about other rows."""
    return known.explain(data.test.x, model(data.test.x).argmax(1))


def explanations(data: Dataset, model: Any, k: int, seed: int) -> dict[str, Any]:
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
    ready = {name: as_array(chosen[name], data, model) for name in ("other-random", "counted")}
    chosen |= {f"{name}, given as an array": e for name, e in ready.items()}
    ordinary = ("sequential", "integrated-gradients", "gradient", "occlusion", "l2x")
    if data.layout.is_text:  # the networks for words are slow to train; what cannot lie here is the known rationale
        chosen["gold"] = Known(k, gold(data), data)
        ordinary = ("integrated-gradients", "gradient")
    return chosen | {name: name for name in ordinary}


def measure(task: str, k: int, seed: int) -> dict[str, Any]:
    data = load(task, seed=seed)
    model = api.train_model(data, seed=seed)
    found: Findings = api.audit(model, data, explanations(data, model, k, seed), k=k, seed=seed).findings
    rows = {(r.explanation, r.check): r for r in found.rows}
    verdicts = {v.explanation: v.verdict for v in found.verdicts}
    return {
        name: {
            "share": rounded(rows[name, "encoding-share"].value),
            "at least": rounded(rows[name, "encoding-share"].low),
            "above random": rounded(
                rows[name, "encoding-share"].value - max(0.0, rows[name, "encoding-share"].null or 0.0)
            ),
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
