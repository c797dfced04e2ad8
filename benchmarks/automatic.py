"""`auto` against the best single method that the audit does not reject, on test rows that chose nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sklearn.ensemble import RandomForestClassifier

from common import Record, rounded
from unmask.api import fit, train_model
from unmask.audit import DECIDING
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.auto import Comparison
from unmask.data import load
from unmask.models import wrap
from unmask.reproduce import tables_of
from unmask.reproduce.references import reference
from unmask.types import Dataset

SETS = {"digits": 8, "tumours": 4, "reviews": 3, "adult": 3, "mnist-3-8": 25, "fashion-pullover-shirt": 64, "imdb": 10}
CACHE = Path("results/.models")
SEED = 0


def model_of(name: str) -> tuple[Any, Dataset, str | None]:
    """The model of the tables where there is one; a random forest, which has no gradients, on `adult`."""
    table = next((t for t in tables_of("mimic") if t.dataset == name), None)
    if table is not None:
        found = reference(table, SEED, "default", CACHE)
        return found.model, found.data, table.removal
    data = load(name, seed=SEED)
    if name != "adult":
        return train_model(data, seed=SEED), data, None
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=SEED, n_jobs=1)
    return wrap(forest.fit(data.train.x.numpy(), data.train.y.numpy())), data, None


def compared(name: str) -> dict[str, Any]:
    """Class-balanced FS-M and FU-M on test rows of what auto chose, of every candidate, and of random."""
    model, data, removal = model_of(name)
    chosen = fit(model, data, SETS[name], method="auto", removal=removal, seed=SEED)
    candidates = chosen.comparison_.explainers
    settings = Settings(k=SETS[name], removal=removal, seed=SEED, checks=DECIDING)
    findings = run(model, data, candidates, settings)
    on_test = Comparison("", "", findings)
    verdicts = {v.explanation: v.verdict for v in findings.verdicts}
    values = {
        row: {"fs-m": rounded(on_test.value(row, "fs-m")), "fu-m": rounded(on_test.value(row, "fu-m"))}
        for row in (*candidates, "random")
    }
    fair = [row for row in candidates if verdicts[row] != "reject"]
    best = max(fair, key=lambda row: values[row]["fs-m"], default=None)
    return {
        "chosen": chosen.method,
        "verdict": verdicts[chosen.comparison_.chosen],
        "points behind the best": None
        if best is None
        else rounded(100 * (values[best]["fs-m"] - values[chosen.comparison_.chosen]["fs-m"]), 2),
        "best": best,
        "values": values,
        "verdicts": {row: verdicts[row] for row in candidates},
    }


def main() -> None:
    record = Record("auto")
    for name in [a for a in sys.argv[1:] if not a.startswith("-")] or SETS:
        record.entry(name, lambda name=name: compared(name))
    record.summary = {
        name: {key: found[key] for key in ("chosen", "verdict", "points behind the best", "best")}
        for name, found in record.entries.items()
    }
    record.save()
    print(record.summary)


if __name__ == "__main__":
    main()
