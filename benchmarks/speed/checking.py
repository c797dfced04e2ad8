"""Checks: against Quantus and Captum on the same explanations, and against the model calls that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import quantus_agreement as agreement
from quantus_agreement import Pair, Setting
from speed import grounds
from speed.measuring import Heard, Times, bar, in_turns, listening
from unmask import api, seeds
from unmask.audit import curves, function_of, infidelity
from unmask.audit.case import Case, Subject
from unmask.audit.subjects import Settings, assemble
from unmask.data import load
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Inputs, rows_of

IN_ROUNDS = ("counterfactual", "counterfactual-size")
CALL = 0.005  # seconds of a core that a call of the model takes at least
SAME = 1e-5
NO_SLOWER = 0.95  # times faster: what is equal comes out on either side of 1; the page says so
REPEATS = 11
FASTER = 5


def shared(small: bool) -> dict[str, Any]:
    """Metrics that Quantus or Captum also have, on the same explanations of digits (integrated gradients).

    Each library draws or gets the same changes of the rows. Where definitions differ ours is turned into theirs: the
    formulas stand in `benchmarks/quantus_agreement.py`. Pixels are taken away one by one on both sides; the curve of an
    audit has ten points. What is compared is the check itself on explanations that are there, as Quantus has it: an
    audit, with its controls, judges and intervals, takes seconds more whatever is asked. No slower is held to be met
    from 0.95 times on, for what is equal comes out on either side of 1: in the last four both sides spend nearly all of
    their time in the same calls of the same model.
    """
    data = load("digits", seed=0)
    curves.STEPS = tuple(i / data.layout.d for i in range(data.layout.d + 1))
    s = Setting(data, api.train_model(data, recipe=grounds.SHORT), rows=20 if small else 100)
    pairs = {f"{name} (Quantus)": metric(s) for name, metric in agreement.METRICS.items()}
    pairs |= {f"{name} (Captum)": metric(s) for name, metric in CAPTUM.items()}
    return raced(pairs, {}, small)


def table(small: bool) -> dict[str, Any]:
    """The same for ten columns and 10,000 rows, where the model is small and overhead decides.

    The deletion curve has as many points as Quantus has steps, and is made of all rows, not of a hundred as in audits.
    In max-sensitivity both ask the same explainer ten times, whose own time is most of ours.
    """
    rows = 2000 if small else 10_000
    data = load("xor", seed=0, n=5 * rows)
    model, curves.ROWS = api.train_model(data, recipe=grounds.SHORT), rows
    s = Setting(data, model, k=2, rows=rows, method="gradient")
    pairs = {f"{name} ({rows:,} rows)": metric(s) for name, metric in agreement.METRICS.items()}
    return raced(pairs, dict.fromkeys(pairs, FASTER), small)


def raced(
    pairs: Mapping[str, Pair], faster: Mapping[str, float], small: bool, others: str = "theirs"
) -> dict[str, Any]:
    """Both sides of each pair timed in turns; `faster` says how many times faster ours must be, otherwise no slower."""
    bars, rows = [], []
    for name, (ours, theirs) in pairs.items():
        found = agreement.furthest((ours, theirs))
        times = in_turns({"ours": ours, others: theirs}, 1 if small else REPEATS)
        gain, ratios = times[others].over(times["ours"]), times[others].ratios(times["ours"])
        bars.append(bar(2, f"{name}: times faster", gain, least=faster.get(name, NO_SLOWER)))
        bars.append(bar(2, f"{name}: largest difference of a value", found["largest difference"], most=SAME))
        ms = {f"{side}, ms": f"{1000 * t.median:.3g}" for side, t in times.items()}
        spread = {"times faster": f"{gain:.3g}", "spread": f"{min(ratios):.3g} to {max(ratios):.3g}"}
        rows.append({"metric": name, **ms, **spread, "difference": found["largest difference"]})
    return {"bars": bars, "tables": {"Milliseconds for all rows": rows}}


def captum_sensitivity(s: Setting) -> Pair:
    """Captum's sensitivity_max with the draws of the pair of Quantus; the first scores are made anew on both sides."""
    from captum.metrics import sensitivity_max

    given, _ = agreement.max_sensitivity(s)

    def ours() -> Tensor:
        s.explainer.explain(s.case.x, s.case.target)
        return given()

    noise = 0.1 * torch.randn((agreement.DRAWS, *s.case.x.shape), generator=seeds.generator(agreement.SEED))
    by_row = noise.transpose(0, 1).flatten(0, 1)

    def explain(inputs: Any) -> tuple[Tensor]:
        x = inputs[0] if isinstance(inputs, tuple) else inputs
        target = s.case.target.repeat_interleave(len(x) // len(s.case.target))
        return (s.explainer.explain(x, target).scores,)

    return ours, lambda: sensitivity_max(explain, s.case.x, lambda x: x + by_row, n_perturb_samples=agreement.DRAWS)


def captum_infidelity(s: Setting, check: str = "infidelity") -> Pair:
    """Captum's infidelity, the same units removed; its factor beta is ours."""
    from captum.metrics import infidelity as theirs

    many, scores = infidelity.SAMPLES, s.explanation.scores.view_as(s.case.x)

    def removed(x: Tensor) -> tuple[Tensor, Tensor]:
        rng = seeds.generator(seeds.derive(s.case.seed, "infidelity"))
        gone = subsets.any_size(s.case.valid.repeat_interleave(many, 0), rng).view_as(x)
        return gone.to(x), torch.where(gone, 0.0, x)

    def measured() -> Tensor:
        given = {"target": s.case.target, "n_perturb_samples": many, "normalize": check == "infidelity"}
        return theirs(s.model, removed, s.case.x, scores, **given)

    return lambda: function_of(check)(s.fresh(), s.subject).values, measured


CAPTUM: dict[str, Callable[[Setting], Pair]] = {
    "sensitivity_max": captum_sensitivity,
    "infidelity, normalized": captum_infidelity,
    "infidelity": lambda s: captum_infidelity(s, "infidelity-raw"),
}


def overhead(small: bool) -> dict[str, Any]:
    """Every check that only calls the model, against the time of the model calls it strictly needs.

    Needed are the distinct rows that the check asks about, without those whose answers every audit has (the audited
    rows themselves): what is compared is the same algorithm with no work but its calls. The check starts with nothing
    remembered. A call is that of the wrapped model, of up to 512 rows (of reviews as many as their network reads at
    once), and takes at least 5 ms of a core: on digits and xor, where the model is a linear one, it waits
    for that long. Counterfactuals are sought in rounds, each of which hangs on the answers of the one before: the calls
    they need are those of their rounds.
    """
    bars, rows = [], []
    for name, k in {"digits": 8, "xor": 2, "reviews": 5}.items():
        data = load(name, seed=0, n=5000) if name == "xor" else load(name, seed=0)
        for check, (times, asked, needed) in _needed(data, k, small).items():
            ratio = times["check"].over(times["calls"])
            bars.append(bar(2, f"{name}, {check}: time over that of the calls it needs", ratio, most=1.2))
            ms = {f"{part}, ms": f"{1000 * t.median:.3g}" for part, t in times.items()}
            rows.append({"data": name, "check": check, "asked": asked, "needed": needed, **ms, "over": f"{ratio:.3f}"})
    return {"bars": bars, "tables": {"Rows asked about and needed; milliseconds": rows}}


def _needed(data: Dataset, k: int, small: bool) -> dict[str, tuple[dict[str, Times], int, int]]:
    """Check -> times of the check and of the calls it needs, rows asked about, rows needed."""
    base = api.train_model(data, recipe=grounds.SHORT) if data.layout.is_text else grounds.linear(data)
    explainer = api.fit(base, data, k, method="occlusion")
    model, heard = listening(base, CALL, keep=True)
    case = assemble(model, data, {"it": explainer}, Settings(k=k, n=20 if small else 500, pool=200))
    found = {}
    for check in grounds.MODEL_ONLY[:: 5 if small else 1]:
        rows = _asked(case, case.subjects[0], check, heard)
        needed = _distinct(rows, case.x)
        rounds = _rounds(heard.sizes, model, rows) if check in IN_ROUNDS else [len(rows)]
        works = {"check": _run(case, check), "calls": _calls(model, rows, needed, rounds)}
        found[check] = in_turns(works, 1 if small else REPEATS), len(rows), len(needed)
    return found


def _asked(case: Case, subject: Subject, check: str, heard: Heard) -> Inputs:
    """All rows that the model is asked about; afterwards it only counts."""
    heard.kept = []
    function_of(check)(replace(case, memory={}), subject)
    parts, heard.kept = heard.kept, None
    heard.sizes = [len(part) for part in parts]
    return torch.cat(parts) if isinstance(parts[0], Tensor) else [row for part in parts for row in part]


def _distinct(rows: Inputs, known: Inputs) -> Tensor:
    """Numbers of the first of each kind of row that is not among those known."""
    seen, found = {_key(row) for row in known}, []
    for i, row in enumerate(rows):
        key = _key(row)
        if key not in seen:
            seen.add(key)
            found.append(i)
    return torch.tensor(found)


def _key(row: Inputs) -> Any:
    return row.numpy().tobytes() if isinstance(row, Tensor) else tuple(row)


def _run(case: Case, check: str) -> Callable[[], object]:
    return lambda: function_of(check)(replace(case, memory={}), case.subjects[0])


def _rounds(sizes: list[int], model: Wrapped, rows: Inputs) -> list[int]:
    """Rows of each round: it ends with a call that is not full. Of texts, whose calls differ in size, one for all.

    Two rounds may pass for one, never one for two: the limit may come out too low, not too high.
    """
    if not isinstance(rows, Tensor):
        return [len(rows)]
    full, rounds = model._rows(rows), [0]
    for size in sizes:
        rounds[-1] += size
        if size < full:
            rounds.append(0)
    return [many for many in rounds if many]


def _calls(model: Wrapped, rows: Inputs, needed: Tensor, rounds: list[int]) -> Callable[[], object]:
    """The model asked about the rows that are needed, round by round."""
    ends = torch.tensor(rounds).cumsum(0)
    which = torch.bucketize(needed, ends, right=True)
    parts = [rows_of(rows, needed[which == i]) for i in which.unique()]
    return lambda: [model(part) for part in parts]
