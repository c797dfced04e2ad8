"""Is attention that was taught to deceive found out, and honest attention left alone?

First sentences of generated reviews with "he" or "she" put in, which alone decides the class. Models learn the task;
copies of them are then taught to answer as before without being seen to look at these two words (Pruthi et al. 2020).
Development seeds measure the deciding check alone, for more kinds of models, the others run whole audits. The limit of
`unmask.audit.evidence` and the rows for judges (200 for the twenty seeds seen) were fixed on development seeds and
twenty more; the ten seeds of the report came after.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from common import Record, rounded
from unmask import api
from unmask.audit import attention
from unmask.audit.evidence import HIDES
from unmask.audit.statistics import Bootstrap
from unmask.audit.subjects import Settings, assemble
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.reproduce.claims.deceived import HONEST, attending, deceive, marks, pronouns, sentences, weights
from unmask.types import Dataset, Explanation, Inputs

K, ROWS, POOL = 3, 100, 1000
FEW = 200  # rows for judges of the seeds seen: too few to tell "he" from "she", honest attention seemed to smuggle
DEVELOPMENT, SEEN, REPORT = range(100, 104), range(20), range(20, 30)  # those seen helped to set limit and pool
ENCODERS = ("bilstm", "rnn", "pooling")
LONG = replace(HONEST, epochs=15)  # attention grows sharper, and stands beside the words it is about more often


@dataclass
class OwnAttention:
    """The model's attention as an explanation."""

    model: Wrapped
    data: Dataset

    def clone(self) -> OwnAttention:
        return self

    def fit(self, model: object, data: Dataset) -> OwnAttention:
        return self

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        about = self.model(x).argmax(1) if target is None else target
        layout, scores = self.data.layout, weights(self.model, x)
        valid = layout.valid(x)
        kept = subsets.topk(scores, K, valid)
        return Explanation(scores, kept, valid, about, {"method": "attention"}, x, layout, self.data.classes)


def learned(model: Wrapped, data: Dataset) -> dict[str, Any]:
    """Test accuracy and, where the two words stand in the rows, the attention on them."""
    x, y = data.test.x, data.test.y
    marked = marks(x)
    mass = float((weights(model, x) * marked).sum(1)[marked.any(1)].mean())
    return {"accuracy": rounded(float((model(x).argmax(1) == y).float().mean())), "mass": rounded(mass, 6)}


def flow(model: Wrapped, data: Dataset, seed: int) -> dict[str, Any]:
    """The deciding check alone: no judges are trained."""
    case = assemble(model, data, {"attention": OwnAttention(model, data)}, Settings(K, n=ROWS, seed=seed, pool=POOL))
    own, chance = (attention.flow(case, s) for s in (case.subjects[0], case.subjects[1]))
    bootstrap = Bootstrap(len(case.target), seed)
    value, low, _ = bootstrap.interval(own.values, own.over)
    return {
        "flow": rounded(value),
        "at least": rounded(low),
        "any word": rounded(any_word := bootstrap.interval(chance.values, chance.over)[0]),
        "accused of hiding": value > HIDES and low > any_word,
        **learned(model, data),
    }


def accused(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['accused of hiding'] for row in rows)} of {len(rows)}"


def develop(record: Record, seed: int) -> None:
    """Honest models on both tasks, and what the deceived copies come to."""
    tasks = {"pronouns": pronouns(seed), "sentences": sentences(seed)}

    def make(encoder: str, how: str) -> tuple[Wrapped, Dataset]:
        data = tasks["sentences" if how == "honest, sentences" else "pronouns"]
        recipe = LONG if how == "honest, sentences" else HONEST
        model = attending(data, encoder, replace(recipe, seed=seed))
        return (deceive(model, data, seed) if how == "deceived" else model), data

    for encoder in ENCODERS:
        for how in ("honest", "honest, sentences", "deceived"):
            record.entry(f"development:{seed}:{encoder}:{how}", lambda e=encoder, h=how: flow(*make(e, h), seed))


def audited(model: Wrapped, data: Dataset, seed: int) -> dict[str, Any]:
    given = {"attention": OwnAttention(model, data)}
    pool = FEW if seed in SEEN else POOL
    found = api.audit(model, data, given, k=K, n=ROWS, pool=pool, seed=seed, checks="attention-flow").findings
    verdict = next(v for v in found.verdicts if v.explanation == "attention")
    row = next(r for r in found.rows if (r.explanation, r.check) == ("attention", "attention-flow"))
    return {
        "verdict": verdict.verdict,
        "accused of hiding": any("attention hides" in reason for reason in verdict.reasons),
        "flow": rounded(row.value),
        "any word": rounded(row.null if row.null is not None else float("nan")),
        "first reason": verdict.reasons[0],
        **learned(model, data),
    }


def report(record: Record, seed: int) -> None:
    """Whole audits of an honest model and its deceived copy; of other honest models the deciding check."""
    data, plain = pronouns(seed), sentences(seed)
    recipe = replace(HONEST, seed=seed)
    honest = attending(data, "bilstm", recipe)
    record.entry(f"honest:{seed}", lambda: audited(honest, data, seed))
    record.entry(f"deceived:{seed}", lambda: audited(deceive(honest, data, seed), data, seed))
    record.entry(f"honest, pooling:{seed}", lambda: flow(attending(data, "pooling", recipe), data, seed))
    for encoder in ("bilstm", "pooling"):
        key = f"honest, sentences, {encoder}:{seed}"
        record.entry(key, lambda e=encoder: flow(attending(plain, e, recipe), plain, seed))


def main() -> None:
    record = Record("deception")
    for seed in DEVELOPMENT:
        develop(record, seed)
    for seed in (*SEEN, *REPORT):
        if f"honest, sentences, pooling:{seed}" not in record.entries:  # the last one of a seed
            report(record, seed)
    record.summary = summary(record.entries)
    record.save()
    print(record.summary)


def summary(entries: dict[str, Any]) -> dict[str, Any]:
    tried = {k: e for k, e in entries.items() if k.startswith("development") and e["flow"] is not None}
    lied = [entry for key, entry in tried.items() if key.endswith("deceived")]

    def told(kind: str, seeds: range) -> dict[str, Any]:
        rows = [entries[f"{kind}:{seed}"] for seed in seeds]
        mean = {name: rounded(sum(row[name] for row in rows) / len(rows)) for name in ("accuracy", "mass", "flow")}
        spread = {"highest mass": max(row["mass"] for row in rows), "flows": sorted(row["flow"] for row in rows)}
        return {"verdicts": Counter(r["verdict"] for r in rows), "accused of hiding": accused(rows), **mean, **spread}

    return {
        "limit": HIDES,
        "development": {
            "honest": sorted(entry["flow"] for key, entry in tried.items() if not key.endswith("deceived")),
            "deceived, less than 1% on the words": sorted(entry["flow"] for entry in lied if entry["mass"] < 0.01),
            "deceived, but more on the words": sorted(entry["flow"] for entry in lied if entry["mass"] >= 0.01),
        },
        "seen before limit and pool were set": {kind: told(kind, SEEN) for kind in ("honest", "deceived")},
        "honest": told("honest", REPORT),
        "deceived": told("deceived", REPORT),
        **{
            f"{kind}: accused of hiding": accused([entries[f"{kind}:{seed}"] for seed in REPORT])
            for kind in ("honest, pooling", "honest, sentences, bilstm", "honest, sentences, pooling")
        },
    }


if __name__ == "__main__":
    main()
