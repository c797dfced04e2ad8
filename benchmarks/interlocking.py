"""How much better off elsewhere is a locked model, and how little one that is not? RNP and A2R on generated reviews.

With `bias`, an opening word agrees with the label in four of five reviews: the trap that generator and predictor lock
each other into. Whether a model is locked is known: the kind of sentence it chooses most often is not that of the
label. The limit of `unmask.audit.evidence` is fixed from the development seeds; the other seeds test it.
"""

from __future__ import annotations

from typing import Any

from common import Record, rounded
from unmask import api
from unmask.audit import locked as checks
from unmask.audit.evidence import ELSEWHERE
from unmask.audit.statistics import Bootstrap
from unmask.audit.subjects import Settings, assemble
from unmask.data import load
from unmask.masking import subsets
from unmask.reproduce.choices import rationale
from unmask.reproduce.rationalizing import locked
from unmask.types import Dataset

DEVELOPMENT, REPORT = range(70, 73), range(73, 76)
SETS = ("reviews:preset=hard,bias=0.8", "reviews:preset=hard")
MODELS = ("rnp+hasty-generator", "rnp", "a2r")  # the first learns at rates that lock it
TRAINED, ROWS, POOL = 2000, 500, 2000  # reviews to learn from, audited rows, rows that the fresh predictor learns from
AUDITED = ((SETS[0], 73),)  # whose models are audited with all that a verdict needs


def fitted(name: str, method: str, seed: int) -> tuple[Any, Dataset]:
    data = load(name, seed=seed, unit="sentences", n=TRAINED)
    model, settings = rationale(method, name, "quick", seed)
    return api.rationalize(data, 1, method=model, seed=seed, settings=settings), data


def measure(name: str, method: str, seed: int) -> dict[str, Any]:
    """The deciding check alone, beside what is known of the model."""
    own, data = fitted(name, method, seed)
    case = assemble(own.model(), data, {method: own}, Settings(1, n=ROWS, seed=seed, pool=POOL))
    found = checks.interlocking(case, case.subjects[0])
    value, low, high = Bootstrap(len(case.target), seed).interval(found.values, found.over)
    e = own.explain(data.test.x)
    return {
        "locked": locked(data.test, e.kept),
        "accused": value > ELSEWHERE and low > 0,
        "better off elsewhere": rounded(value),
        "at least": rounded(low),
        "at most": rounded(high),
        "accuracy": rounded(float((e.target == data.test.y).float().mean())),
        "first sentence": rounded(float(subsets.holds_first(e.kept, e.valid).float().mean())),
        **({"verdict": verdict(own, data, method, seed)} if (name, seed) in AUDITED else {}),
    }


def verdict(own: Any, data: Dataset, method: str, seed: int) -> dict[str, Any]:
    """The whole audit."""
    asked = ["interlocking", "exclusion"]
    said = api.audit(own.model(), data, {method: own}, n=ROWS, pool=POOL, seed=seed, checks=asked).verdicts[0]
    return {"verdict": said.verdict, "reasons": list(said.reasons)}


def main() -> None:
    record = Record("interlocking")
    for seed in (*DEVELOPMENT, *REPORT):
        for name in SETS:
            for method in MODELS:
                key = f"{name}:{method}:{seed}"
                record.entry(key, lambda name=name, method=method, seed=seed: measure(name, method, seed))
                record.summary = summary(record.entries)
                record.save()
    print(record.summary)


def summary(entries: dict[str, Any]) -> dict[str, Any]:
    def part(seeds: range) -> dict[str, Any]:
        rows = [row for key, row in entries.items() if int(key.rpartition(":")[2]) in seeds]
        return {
            word: {
                "accused": f"{sum(row['accused'] for row in kind)} of {len(kind)}",
                "better off elsewhere": sorted(row["better off elsewhere"] for row in kind),
            }
            for word, kind in (
                ("locked", [row for row in rows if row["locked"]]),
                ("not locked", [row for row in rows if not row["locked"]]),
            )
        }

    verdicts = {key: row["verdict"]["verdict"] for key, row in entries.items() if "verdict" in row}
    return {"limit": ELSEWHERE, "development": part(DEVELOPMENT), "report": part(REPORT), "verdicts": verdicts}


if __name__ == "__main__":
    main()
