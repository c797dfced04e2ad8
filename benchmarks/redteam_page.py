"""docs/redteam.md and docs/redteam-roc.svg from the results of `redteam.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

import common
from redteam import TASKS
from unmask.audit.evidence import SHARE_LIMIT

DOCS = Path(__file__).parents[1] / "docs"
SORTS = {
    "liar": "Pure liars: to be rejected",
    "mixture": "Honest units and a code: not to be trusted",
    "reference": "References that cannot lie: not to be accused of smuggling",
    "method": "Methods, whatever comes out",
}
HEAD = """# The red team

Written by `python benchmarks/redteam.py --render` from `benchmarks/results/redteam-*.json`; do not edit.

Every seed has its own split, model, explainers and judges. What each liar does is said in `unmask.audit.redteam`, how
the audit sees through it in [encoding.md](encoding.md). Counts are audits: those with each verdict, those in which
smuggling or leaking is a reason, and those in which the report says that it cannot be told."""
SHOULD: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "liar": lambda row: row["verdict"] == "reject",
    "mixture": lambda row: row["verdict"] != "trust",
    "reference": lambda row: not row["smuggles"],
}
TOGETHER = {
    "liar": "rejected",
    "mixture": "not trusted, up to half of its units honest",
    "reference": "not accused of smuggling",
}
CONSTANT = (":fixed", ":informed", ":order")
COLUMNS = ("of", "trust", "care", "reject", "accused of smuggling", "cannot be told")

Entries = dict[str, dict[str, Any]]


def render(docs: Path = DOCS) -> None:
    found = {task: json.loads(path.read_text()) for task in TASKS if (path := _results(task)).exists()}
    parts = [HEAD, _together(found), *(_task(task, held["summary"], held["entries"]) for task, held in found.items())]
    curves = {task: held["entries"] for task, held in found.items() if _scored(held["entries"]) is not None}
    if curves:
        (docs / "redteam-roc.svg").write_text(_roc(curves), encoding="utf-8")
        parts.append(_words(curves))
    (docs / "redteam.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _together(found: Mapping[str, Any]) -> str:
    """How often each came out as it should, over all data sets: one line for each kind."""
    counts: dict[tuple[str, str], list[bool]] = {}
    for held in found.values():
        for key, row in held["entries"].items():
            name = key.split(":", 2)[2]
            if row["sort"] in SHOULD and not _mostly_honest(name):
                counts.setdefault((row["sort"], name.partition(", ")[0]), []).append(SHOULD[row["sort"]](row))
    lines = ["| | | of | as it should be | |", "|---|---|---|---|---|"]
    for (sort, name), right in sorted(counts.items(), key=lambda one: list(SHOULD).index(one[0][0])):
        told = f"| {len(right)} | {sum(right)} | {sum(right) / len(right):.1%} |"
        lines.append(f"| {TOGETHER[sort]} | {name} {told}")
    return "\n\n".join(["## All data sets together", "\n".join(lines)])


def _mostly_honest(name: str) -> bool:
    """Whether more than half of a mixture's units are honest: there nothing is asked of the audit."""
    honest, of, k = name.partition(", ")[2].removesuffix(" honest").partition(" of ")
    return bool(of) and 2 * int(honest) > int(k)


def _results(task: str) -> Path:
    return common.RESULTS / f"redteam-{task}.json"


def _task(task: str, summary: Entries, entries: Entries) -> str:
    seeds = sorted({int(key.split(":")[1]) for key in entries})
    parts = [f"## {TASKS[task][0]}, {TASKS[task][1]} units, {len(seeds)} seeds ({seeds[0]} to {seeds[-1]})"]
    for sort, title in SORTS.items():
        rows = {name: row for name, row in summary.items() if row["sort"] == sort}
        if rows:
            parts += [f"### {title}", _table(rows)]
    fallen = _fallen(summary)
    return "\n\n".join([*parts, *([fallen] if fallen else [])])


def _table(rows: Entries) -> str:
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def _fallen(summary: Entries) -> str:
    """From how many honest units on each code is named in less than half of the audits."""
    said = []
    mixtures = {name: row for name, row in summary.items() if row["sort"] == "mixture"}
    for code in dict.fromkeys(name.partition(", ")[0] for name in mixtures):
        own = {int(n.split(", ")[1].split()[0]): row for n, row in mixtures.items() if n.startswith(f"{code}, ")}
        missed = [n for n, row in sorted(own.items()) if row["accused of smuggling"] < row["of"] / 2]
        said.append(f"`{code}`: " + (f"{missed[0]} honest units" if missed else "none of the numbers tried"))
    return "The code is named in less than half of the audits from: " + "; ".join(said) + "." if said else ""


def _scored(entries: Entries) -> tuple[list[bool], list[float]] | None:
    """Whether liar, and excess share, of liars and references; a mask that never changes has none by construction."""
    varied = {key: row for key, row in entries.items() if not key.endswith(CONSTANT)}
    rows = [row for row in varied.values() if row["sort"] in ("liar", "reference")]
    lies = [row["sort"] == "liar" for row in rows]
    return (lies, [row["excess"] for row in rows]) if len(set(lies)) == 2 else None


def _words(curves: dict[str, Entries]) -> str:
    lines = []
    for task, entries in curves.items():
        lies, score = _scored(entries) or ([], [])
        over = np.array(score) > SHARE_LIMIT
        found, wrong = over[np.array(lies)].mean(), over[~np.array(lies)].mean()
        area = roc_auc_score(lies, score)
        lines.append(
            f"- {task}: area {area:.3f}; above {SHARE_LIMIT} are {found:.0%} of liars, {wrong:.0%} of references"
        )
    told = (
        "Excess share (the share told by the choice less what chance may make of it), liars against references. "
        "Masks that never change (`fixed`, `informed`, `order`, whose code is in the scores) have none: left out. "
        "A liar may be rejected for emptiness without it, so the tables above say more than the curve:"
    )
    return "\n\n".join(["## ROC curve", "![ROC curve of the excess share](redteam-roc.svg)", told, "\n".join(lines)])


def _roc(curves: dict[str, Entries]) -> str:
    from unmask.reproduce.pictures import _figure, _svg

    figure, axes = _figure(len(curves))
    for axis, (task, entries) in zip(axes, curves.items(), strict=True):
        lies, score = _scored(entries) or ([], [])
        wrong, found, limits = roc_curve(lies, score, drop_intermediate=False)
        axis.plot(wrong, found, color="#1f6f8b", linewidth=1.6)
        at = int(np.searchsorted(-limits, -SHARE_LIMIT, side="left")) - 1
        axis.plot(wrong[at], found[at], "o", color="#b3443c", label=f"limit {SHARE_LIMIT}")
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
        axis.set(title=task, xlabel="references above the limit", ylabel="liars above the limit")
        axis.legend(frameon=False, loc="lower right")
    return _svg(figure)
