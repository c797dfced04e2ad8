"""For people in a hurry: fit a few explainers, keep the best of those that do not smuggle.

Best is who keeps the answer most often when only the kept units are shown (class-balanced FS-M on validation rows);
among equals, who needs its units most (FU-M). Whoever the audit rejects on validation rows is out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unmask import progress
from unmask.audit import DECIDING
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.errors import InputError, UnmaskError, unknown
from unmask.methods import METHODS, make
from unmask.models import Wrapped, bind
from unmask.task import seeded
from unmask.types import Dataset, Findings

__all__ = ["CANDIDATES", "SET_AUTO", "Comparison", "choose"]

CANDIDATES = ("integrated-gradients", "gradient-x-input", "mimic", "meed", "real-x")
SET_AUTO = "auto takes no settings: it chooses a method; name one to set it"
ROWS = 500  # validation rows on which they are compared
TIE = 0.005  # of fs-m: less is noise, then fu-m decides
SEEN = {"table": 100_000_000, "image": 40_000_000, "words": 10_000_000, "sentences": 10_000_000}
"""Units that a candidate may see in training, a quarter of an hour or so on one core: large sets get fewer epochs."""
FEWEST = 3  # epochs, however large the set is


@dataclass(frozen=True)
class Comparison:
    """Who was chosen, why, and the audit of all candidates on validation rows."""

    chosen: str
    why: str
    findings: Findings
    fair: bool = True  # whether the audit leaves the chosen one standing
    explainers: Mapping[str, Any] = field(default_factory=dict, repr=False)  # all candidates, fitted

    def value(self, name: str, check: str) -> float:
        """A number of the audit; where it is there by class, classes count alike."""
        own = {r.check: r.value for r in self.findings.rows if r.explanation == name}
        parts = [v for key, v in own.items() if key.startswith(f"{check}@class=") and v == v]
        return sum(parts) / len(parts) if parts else own[check]


def choose(
    model: Any,
    data: Dataset,
    k: int,
    *,
    removal: str | None = None,
    seed: int = 0,
    candidates: Sequence[str] = CANDIDATES,
    say: Callable[[str], None] = progress.say,
) -> Any:
    """The best explainer, fitted; its attribute `comparison_` tells how the candidates did, its explanations' `origin`
    why it was chosen.
    """
    wrapped = bind(model, data, removal)
    possible = _possible(candidates, wrapped)
    unfitted = {name: _hurried(seeded(make(name, k, removal), seed), data) for name in possible}
    fitted = _fitted(unfitted, wrapped, data, say)
    settings = Settings(k=k, split="validation", n=_rows(data), removal=removal, seed=seed, checks=DECIDING)
    findings = run(wrapped, data, fitted, settings)
    comparison = replace(_compared(findings, list(fitted)), explainers=fitted)
    (say if comparison.fair else progress.warn)(f"auto: {comparison.why}")
    best = fitted[comparison.chosen]
    best.comparison_ = comparison
    best.readings_ = {**getattr(best, "readings_", {}), "auto": comparison.why}
    return best


def _fitted(unfitted: Mapping[str, Any], model: Wrapped, data: Dataset, say: Callable[[str], None]) -> dict[str, Any]:
    """Each candidate fitted; one that cannot be is left out, and it is said why."""
    fitted, faults = {}, []
    with progress.bar("candidates", len(unfitted)) as step:
        for name, explainer in unfitted.items():
            try:
                explainer.fit(model, data).explain(data.validation.x[:2])  # some say only then that they cannot
                fitted[name] = explainer
            except UnmaskError as error:
                faults.append(error)
                say(f"auto: {name} is left out: {error}")
            step(name)
    if not fitted:
        raise faults[0]
    return fitted


def _hurried(explainer: Any, data: Dataset) -> Any:
    """The same explainer with as many epochs as it can have in the time."""
    if not hasattr(explainer, "recipe"):
        return explainer
    affordable = SEEN[data.kind] // max(1, data.train.valid.numel())
    epochs = min(explainer.recipe.epochs, max(FEWEST, affordable))
    return replace(explainer, recipe=replace(explainer.recipe, epochs=epochs))


def _possible(candidates: Sequence[str], model: Wrapped) -> list[str]:
    for name in candidates:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    names = [name for name in candidates if model.module is not None or not METHODS[name].needs_gradients]
    if not names:
        raise InputError(f"{model.name} gives no gradients, and every candidate needs them; add 'mimic' or 'occlusion'")
    return names


def _rows(data: Dataset) -> int:
    """At most half of the validation rows: judges stop on the others."""
    return max(2, min(ROWS, len(data.validation) // 2))


def _compared(findings: Findings, names: Sequence[str]) -> Comparison:
    verdicts = {v.explanation: v.verdict for v in findings.verdicts}
    draft = Comparison("", "", findings)
    fair = [name for name in names if verdicts[name] != "reject"]
    if not fair:
        chosen = max(names, key=lambda name: draft.value(name, "reading"))
        why = f"every candidate is rejected by the audit; {chosen} shows most to a neutral judge, but do not trust it"
        return replace(draft, chosen=chosen, why=why, fair=False)
    best = max(draft.value(name, "fs-m") for name in fair)
    close = [name for name in fair if draft.value(name, "fs-m") >= best - TIE]
    chosen = min(close, key=lambda name: draft.value(name, "fu-m"))
    out = [name for name in names if name not in fair]
    why = f"{chosen}: the model keeps its answer in {draft.value(chosen, 'fs-m'):.0%} of the validation rows"
    return replace(draft, chosen=chosen, why=why + (f"; rejected: {', '.join(out)}" if out else ""))
