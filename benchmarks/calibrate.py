"""Where lies the line between an honest and a lying choice? Development seeds, data sets and liars only.

The share threshold of `unmask.audit.verdict` is fixed from this table; benchmarks/verdicts.py then tests the rule on
other seeds with another liar.
"""

from __future__ import annotations

from typing import Any

from common import Record, rounded
from liars import Known, counted, fixed, half_time, outstanding, random_units
from unmask import api
from unmask.data import load
from unmask.types import Dataset, Findings

TASKS = {"digits": (8, range(100, 105)), "tumours": (4, range(100, 104)), "reviews": (3, range(100, 102))}
CANNOT_LIE = ("fixed", "outstanding", "other-random", "sequential", "gold")
LIARS = ("counted", "counted-half-time")


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
            "above random": rounded(rows[name, "encoding-share"].value - null),
            "reading": rounded(rows[name, "reading"].value),
            "reading of random": rounded(rows[name, "reading"].null or 0.0),
            "fs-m": rounded(rows[name, "fs-m"].value),
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

    honest, lying = excess(CANNOT_LIE), excess(LIARS)
    record.summary = {
        "highest excess share of references that cannot lie": honest[-1],
        "references": len(honest),
        "lowest excess share of liars": lying[0],
        "liars": len(lying),
    }
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
