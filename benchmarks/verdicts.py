"""Is the audit a random guess? Twenty seeds of digits: new split, model, explainers and judges each time."""

from __future__ import annotations

from collections import Counter
from typing import Any

from common import Record, rounded
from unmask import api
from unmask.data import load

METHODS = ("cheater", "integrated-gradients", "occlusion", "l2x")
SEEDS = range(20)
K = 8


def measure(seed: int) -> dict[str, Any]:
    data = load("digits", seed=seed)
    model = api.train_model(data, seed=seed)
    found = api.audit(model, data, {name: name for name in METHODS}, k=K, seed=seed).findings
    rows = {(r.explanation, r.check): r for r in found.rows}
    shown = ("fs-m", "fu-m", "encoding-share", "reading", "approximator-gap")
    return {
        v.explanation: {
            "verdict": v.verdict,
            "smuggles": any(reason.startswith("it smuggles") for reason in v.reasons),
            **{check: rounded(rows[v.explanation, check].value) for check in shown},
        }
        for v in found.verdicts
    }


def main() -> None:
    record = Record("verdicts-digits")
    for seed in SEEDS:
        record.entry(str(seed), lambda seed=seed: measure(seed))
    names = record.entries["0"]
    record.summary = {
        name: {
            **Counter(entry[name]["verdict"] for entry in record.entries.values()),
            "smuggling found": sum(entry[name]["smuggles"] for entry in record.entries.values()),
            "seeds": len(record.entries),
        }
        for name in names
    }
    record.save()
    for name, counts in record.summary.items():
        print(f"{name:22s}", counts)


if __name__ == "__main__":
    main()
