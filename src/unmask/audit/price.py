"""What an audit will take, said before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unmask.audit import curves, fragility, infidelity, roar, stability
from unmask.audit.baseline import ways
from unmask.audit.dependence import GROUPS, REFITS
from unmask.audit.subjects import Settings
from unmask.masking.controls import CONTROLS
from unmask.types import Dataset

__all__ = ["cost"]


def cost(data: Dataset, given: Mapping[str, object], settings: Settings) -> str:
    """What an audit will take, in a sentence, before anything is fitted."""
    rows = min(settings.n, len(data[settings.split]))
    judged = sum(min(most, len(data[s])) for s, most in settings.pools.items())
    total, shared = len(given) + len(CONTROLS), 6 if "eval-x" in settings.checks else 3
    answers = rows * (1 + 2 * total) + judged + _curved(settings.checks, rows, total)
    return (
        f"auditing {len(given)} explanations and {len(CONTROLS)} controls on {rows} rows: about "
        f"{answers:,} model answers besides what the methods ask themselves, "
        f"{total * judged:,} further rows explained for the judges, at least {6 * total + shared} judges trained"
        + "".join(f", {more}" for more in _on_demand(data, given, settings.checks, rows))
    )


def _curved(checks: Iterable[str], rows: int, total: int) -> int:
    """Model answers that curves and infidelity take."""
    curves_ = {"aopc-sufficiency", "aopc-comprehensiveness", "insertion", "deletion"} & {*checks}
    apart = {"infidelity", "infidelity-raw"} & {*checks}
    asked = curves.ANSWERS * total * min(rows, curves.ROWS) if curves_ else 0
    return asked + (infidelity.SAMPLES * min(rows, infidelity.ROWS) if apart else 0)


def _on_demand(data: Dataset, given: Mapping[str, object], checks: Iterable[str], rows: int) -> list[str]:
    """What the costly checks come to: only explainers, given or by name, can be asked and fitted again."""
    askable = sum(isinstance(thing, str) or hasattr(thing, "explain") for thing in given.values())
    fresh = len({"fs-a", "fu-a"} & {*checks})
    moved = {"sen", "sen-legacy", "topk-overlap"} & {*checks} and not data.layout.is_text
    refits = sum(times for check, times in _refits(data).items() if check in checks)
    refits += stability.REFITS * bool({"seed-stability", "seed-correlation"} & {*checks})
    retrained = len(roar.SHARES) * len({"roar", "roar-recursive"} & {*checks})
    attacked = "fragility" in checks and not data.layout.is_text
    parts = {
        f"at least {fresh * (len(given) + len(CONTROLS))} fresh networks trained": fresh,
        f"{retrained * (len(given) + len(CONTROLS))} networks retrained without units": retrained,
        f"{askable * stability.DRAWS * rows:,} moved rows explained": moved and askable,
        f"{askable * fragility.TRIES * min(rows, fragility.ROWS):,} rows led astray": attacked and askable,
        f"{askable * refits} explainers fitted again": refits * askable,
        "a copy of the model trained on shuffled labels": "permuted-labels" in checks,
    }
    return [text for text, wanted in parts.items() if wanted]


def _refits(data: Dataset) -> dict[str, int]:
    """Check -> how often it fits each explainer again, at most."""
    return {
        "randomized-model": REFITS,
        "permuted-labels": 1,
        "cascading-randomization": GROUPS,
        "independent-randomization": GROUPS,
        "removal-sensitivity": len(ways(data.kind)),
        "roar-recursive": len(roar.SHARES) - 1,
    }
