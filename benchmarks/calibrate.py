"""Where lies the line between an honest and a lying choice? Development seeds, data sets and liars only.

The share threshold of `unmask.audit.evidence` is fixed from this table; benchmarks/verdicts.py then tests the rule on
other seeds with another liar.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from common import Record, rounded
from unmask import api
from unmask.audit.evidence import SHARE_LIMIT
from unmask.audit.redteam import Suspect
from unmask.data import load
from unmask.types import Dataset, Explanation, Findings, Inputs

TASKS = {"digits": (8, range(100, 103)), "tumours": (4, range(100, 103))}
CANNOT_LIE = ("fixed", "outstanding", "chance", "chance, given as an array", "sequential")
ORDINARY = ("integrated-gradients", "occlusion", "gradient", "l2x")
LIARS = ("count", "count, given as an array")


@dataclass
class HalfTime:
    """A liar in every other row, chance in the rest."""

    lie: Suspect
    honest: Suspect

    def clone(self) -> HalfTime:
        return replace(self)

    def fit(self, model: Any, data: Dataset) -> HalfTime:
        return replace(self, lie=self.lie.clone().fit(model, data), honest=self.honest.clone().fit(model, data))

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        a, b = (thing.explain(x, target) for thing in (self.lie, self.honest))
        lying = torch.arange(len(a.kept))[:, None] % 2 == 0
        return replace(a, scores=torch.where(lying, a.scores, b.scores), kept=torch.where(lying, a.kept, b.kept))


def explanations(data: Dataset, model: Any, k: int, seed: int) -> dict[str, Any]:
    """By name: references that cannot lie, ordinary methods, liars; two also as arrays of the test rows alone."""
    chosen: dict[str, Any] = {
        kind: Suspect(k, kind, seed).fit(model, data) for kind in ("fixed", "chance", "outstanding", "count")
    }
    chosen["count, every other row"] = HalfTime(chosen["count"], chosen["chance"]).fit(model, data)
    answers = model(data.test.x).argmax(1)
    ready = {kind: chosen[kind].explain(data.test.x, answers) for kind in ("chance", "count")}
    chosen |= {f"{kind}, given as an array": e for kind, e in ready.items()}
    return chosen | {name: name for name in ("sequential", *ORDINARY)}


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
        "liars in every other row found": accused(("count, every other row",)),
        "ordinary methods accused": {name: accused((name,)) for name in ORDINARY},
    }
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
