"""One row of a table on one data set with one seed: fit, explain the test rows, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask import api, seeds
from unmask.attention.neutral import Weighting
from unmask.attention.schemes import Plain, RandomPretraining
from unmask.audit import DECIDING, function_of
from unmask.audit.statistics import Bootstrap
from unmask.audit.subjects import Settings, assemble
from unmask.audit.suite import run
from unmask.loading import load as load_explainer
from unmask.masking.removals import make_removal
from unmask.methods import make
from unmask.models import Wrapped, shown
from unmask.reproduce import choices, marks
from unmask.reproduce.attentive import LONG_ROWS, PRETRAINED_ROWS, REVIEWS, STEADY_ROWS, VANILLA, VANILLA_TRANSFORMER
from unmask.reproduce.choices import LAST, MOVIE_ROWS, REVIEW_ROWS, SHARE
from unmask.reproduce.references import SIZES, Reference, amount, recipe_of, reference
from unmask.reproduce.tables import (
    CLAIM_RECIPE,
    CLAIM_ROWS,
    CONTROLS,
    Scale,
    Table,
    made,
    named,
)
from unmask.task import seeded
from unmask.types import Dataset, Explanation, Split

__all__ = ["COSTLY", "SCHEMES", "Trial", "audited", "interval", "kept_in", "measure", "percent", "rows_behind", "some"]

SCHEMES: dict[str, Callable[..., Any]] = {s.method: s for s in (Plain, RandomPretraining, Weighting)}
AS_IT_IS = ("auto", "attention", "uniform")  # methods of rows that have no settings
SLOW = ("lime", "kernel-shap", "infd", "smoothgrad", "occlusion")  # ask the model about each row many times
LONG = ("auto", "cure", "mimic", "meed", "fastshap", "real-x", "invase", "vibi", "l2x", *SLOW)  # longest first
SLOW_ROWS = 200  # test rows for those
SANITY = ("randomized-model", "permuted-labels")
COSTLY = ("fs-a", "fu-a", "sen", "sen-legacy", *SANITY)
SENSED = 100  # test rows that are moved to measure their sensitivity
AUDITED = 500  # test rows of an audit


@dataclass(frozen=True)
class Trial:
    """What is to be measured: a row of a table, a seed, a scale."""

    table: Table
    row: str
    seed: int
    scale: Scale

    @property
    def key(self) -> str:
        t, pretrained = self.table, self.row.endswith("/transformer")
        method, settings = _whole(t, *made(self.row, t, self.scale, 0))
        rows = LONG_ROWS if t.dataset == "imdb" else STEADY_ROWS
        others: dict[str, tuple[Any, ...]] = {
            "attention": (REVIEWS,),
            "steady": (PRETRAINED_ROWS, VANILLA_TRANSFORMER) if pretrained else (rows, VANILLA),
            "rationale": (REVIEW_ROWS, MOVIE_ROWS, SHARE, LAST, *((choices.SLOW_ROWS,) if pretrained else ())),
            "critique": (CLAIM_ROWS, CLAIM_RECIPE, SIZES.get(("image", self.scale))),
        }
        if t.kind in others:
            made_of: tuple[Any, ...] = ((method, settings), *others[t.kind])
        else:
            made_of = (method, settings, amount(t, self.scale), recipe_of(t, self.scale, 0))
        mark, row = marks.mark(*made_of), named(self.row, t)  # other settings, another trial
        return f"{t.dataset} k={t.k} {t.removal} {self.scale} {row} seed={self.seed} {mark}"

    @property
    def turn(self) -> tuple[int, int]:
        """Seed by seed: controls, which take seconds, then what takes longest, so that no worker is left with it."""
        method, settings = made(self.row, self.table, self.scale, self.seed)
        what = "cure" if settings.get("cure") else method
        return self.seed, -1 if self.row in CONTROLS else LONG.index(what) if what in LONG else len(LONG)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the table that this row has; methods that ask the model row by row have no fresh networks."""
        slow = (*COSTLY, "approximator")
        return tuple(m for m in self.table.metrics if self.row not in SLOW or m not in slow)


def _whole(table: Table, method: str, settings: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method with all its settings: what a row leaves to its method counts as well."""
    if method in AS_IT_IS or table.kind == "critique" or (table.kind == "rationale" and method in CONTROLS):
        return method, settings
    if table.kind == "attention":
        return method, marks.settings(SCHEMES[method](**settings))
    return method, marks.settings(make(method, table.k or SHARE, table.removal, settings))


def measure(trial: Trial, cache: Path) -> dict[str, Any]:
    """Value and interval of each metric in per cent; how the fit went and seconds, unless it was fitted before."""
    started = time.perf_counter()
    ref = reference(trial.table, trial.seed, trial.scale, cache)
    data, model, kept = ref.data, ref.model, kept_in(trial, cache)
    found: dict[str, Any] = {"key": trial.key, "model accuracy": model.details.get("test accuracy")}
    if kept.exists():
        explainer: Any = load_explainer(kept, model=model)
    else:
        explainer = _fitted(trial, data, model)
        if trial.row not in CONTROLS:
            explainer.save(kept)
        found["readings"] = getattr(explainer, "readings_", {})
        found["curve"] = [round(100 * epoch["fs-m"], 2) for epoch in getattr(explainer, "curve_", ())]
        found["seconds"] = {"fit": round(time.perf_counter() - started, 1)}
    values = {**_cheap(trial, ref, explainer), **_costly(trial, data, model, explainer)}
    return {**found, "values": values, "n": SLOW_ROWS if trial.row in SLOW else len(data.test)}


def _fitted(trial: Trial, data: Dataset, model: Wrapped) -> Any:
    method, settings = made(trial.row, trial.table, trial.scale, trial.seed)
    k, removal = trial.table.k, trial.table.removal
    if method == "auto":
        return api.fit(model, data, k, method="auto", removal=removal, seed=trial.seed)
    return seeded(make(method, k, removal, settings), trial.seed).fit(model, data)


def audited(
    table: Table, rows: Sequence[str], seed: int, scale: Scale, cache: Path
) -> dict[str, dict[str, list[float]]]:
    """Reading and share of fitted rows, all in one audit: one panel of judges reads them all, on rows of their own."""
    ref = reference(table, seed, scale, cache)
    given = {
        row: load_explainer(kept_in(Trial(table, row, seed, scale), cache), model=ref.model)
        for row in rows
        if row not in CONTROLS
    }
    settings = Settings(k=table.k, n=AUDITED, removal=table.removal, seed=seed, checks=DECIDING)
    findings = run(ref.model, ref.apart, given, settings)
    return {
        row: {
            r.check: [round(100 * v, 2) for v in (r.value, r.low, r.high)]
            for r in findings.rows
            if r.explanation == row and r.check in ("reading", "encoding-share") and r.value == r.value
        }
        for row in rows
    }


def kept_in(trial: Trial, cache: Path) -> Path:
    """Where the fitted explainer of a trial is kept."""
    return cache / trial.key.replace(" ", "_")


def _cheap(trial: Trial, ref: Reference, explainer: Any) -> dict[str, list[float]]:
    """FS-M, FU-M (with FS-M by class) and the approximator's agreement, on all test rows.

    The model was asked about whole rows before; only what is kept and what is left is asked about here.
    """
    data, model, test, answer = ref.data, ref.model, ref.data.test, ref.answer
    if trial.row in SLOW:
        few = _drawn(len(test), SLOW_ROWS, trial.seed, "slow rows")
        test, answer = test.rows(few), answer[few]
    removal, target = make_removal(trial.table.removal, data), answer.argmax(1)
    fed = (answer,) if getattr(explainer, "feedback", False) else ()
    e: Explanation = explainer.explain(test.x, target, *fed)
    enough = _same(shown(model, removal, test.x, e.kept), target)
    found = {"fs-m": enough, "fu-m": _same(shown(model, removal, test.x, e.valid & ~e.kept), target)}
    for c in target.unique().tolist():
        found[f"fs-m@class={data.classes[c]}"] = enough[target == c]
    if hasattr(explainer, "approximated"):
        found["approximator"] = (explainer.approximated(test.x, e.kept) == target).float()
    return {name: percent(values, trial.seed) for name, values in found.items()}


def _costly(trial: Trial, data: Dataset, model: Wrapped, explainer: Any) -> dict[str, list[float] | None]:
    """What trains or explains much more than the row itself, each on as many test rows as it can bear."""
    found: dict[str, list[float] | None] = {}
    groups = {("fs-a", "fu-a"): len(data.test), ("sen", "sen-legacy"): SENSED, SANITY: AUDITED}
    for names, n in groups.items():
        wanted = [name for name in names if name in trial.metrics]
        if not wanted:
            continue
        settings = Settings(k=trial.table.k, n=n, removal=trial.table.removal, seed=trial.seed, pool=len(data.train))
        given = {} if trial.row in CONTROLS else {trial.row: explainer}  # controls are there, drawn anew when refitted
        case = assemble(model, data, given, settings)
        subject = next(s for s in case.subjects if s.name == trial.row)
        for name in wanted:
            values = function_of(name)(case, subject).values
            found[name] = None if bool(values.isnan().all()) else percent(values, trial.seed)
    return found


def rows_behind(metric: str, n: int | None) -> int | None:
    """On how many of the n test rows a metric stands."""
    if n is None:
        return None
    most = {"sen": SENSED, "sen-legacy": SENSED, "reading": AUDITED, "encoding-share": AUDITED}
    return min(n, {**most, **dict.fromkeys(SANITY, AUDITED)}.get(metric, n))


def some(split: Split, n: int, seed: int, what: str) -> Split:
    """At most n rows of a split, drawn by the seed and what they are for, in their order."""
    return split.rows(_drawn(len(split), n, seed, what))


def _drawn(rows: int, n: int, seed: int, what: str) -> Tensor:
    """Places of at most n of so many rows."""
    rng = seeds.generator(seeds.derive(seed, what))
    return torch.randperm(rows, generator=rng)[:n].sort().values


def _same(answer: Tensor, target: Tensor) -> Tensor:
    return (answer.argmax(1) == target).float()


def interval(values: Tensor, seed: int) -> list[float]:
    """Mean of one value for each row with its interval, in the unit of the values."""
    return [float(f"{v:.6g}") for v in Bootstrap(len(values), seed).interval(values)]


def percent(values: Tensor, seed: int) -> list[float]:
    """Mean of one value for each row with its interval, in per cent."""
    return (
        [round(100 * v, 2) for v in Bootstrap(len(values), seed).interval(values)]
        if len(values)
        else [float("nan")] * 3
    )
