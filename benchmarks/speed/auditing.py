"""The whole audit: how often it asks the model, how long it takes, how much memory it holds."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from speed import grounds
from speed.measuring import bar, listening, memory
from speed.processes import part
from unmask import api
from unmask.audit import CHECKS, smuggling, suite
from unmask.audit.subjects import Settings
from unmask.data import load
from unmask.explainers.l2x import L2X
from unmask.models import Wrapped, bind, wrap
from unmask.types import Dataset, Explainer, Findings

TASKS = {"digits": 8, "reviews": 5, "adult": 3}  # data set -> units kept
FITS = 16  # rows of a batch that fit into the memory of the narrow model
LIMIT = 2000  # MB
SAME = 1e-5
FEW = ("fs-m", "sufficiency", "reading", "aopc-sufficiency", "insertion", "infidelity")  # checks of a small run


def defaults(small: bool) -> dict[str, Any]:
    """The default audit of two explanations (L2X and occlusion) and the three controls, and its checks one by one.

    `answers` are rows that the model is asked about. One by one each check is an audit of its own, which asks for the
    answers to the audited rows and to those of its judges first, and explains them; `in checks` leaves that preparation
    out on both sides: what is left there is mostly occlusion that is asked again about moved rows, which no two checks
    have in common. Checks that these data and explanations have no use for are in neither.
    For this comparison the judges learn for one epoch, which changes no answer of the model. `apart` is the largest
    difference of any value, measured together and one by one.
    """
    rows, bars = [], []
    for name, k in list(TASKS.items())[: 1 if small else None]:
        found = part("audit", "auditing:one", name, k, small, keep=not small)
        rows.append(found)
        bars.append(bar(3, f"{name}: answers over those of its checks one by one", found["share"], most=0.5))
        bars.append(bar(3, f"{name}: largest difference of a value", found["apart"], most=1e-5))
    return {"bars": bars, "tables": {"Default audits": rows}}


def one(name: str, k: int, small: bool) -> dict[str, Any]:
    """The default audit of one data set."""
    data = load(name, seed=0)
    model, heard = listening(api.train_model(data, recipe=grounds.SHORT))
    given = {
        "l2x": L2X(k, recipe=grounds.SHORT).fit(model, data),
        "occlusion": api.fit(model, data, k, method="occlusion"),
    }
    settings = Settings(k, n=50, pool=100, checks=FEW) if small else Settings(k)
    heard.rows = heard.calls = 0
    started, recipe = time.process_time(), smuggling.RECIPE
    smuggling.RECIPE = replace(recipe, epochs=1) if small else recipe
    suite.run(model, data, given, settings)
    taken = {"seconds": f"{time.process_time() - started:.0f}", "calls": heard.calls}
    smuggling.RECIPE = replace(recipe, epochs=1)
    return {"data": name, "rows": settings.n, **taken, **_one_by_one(model, data, given, settings, heard)}


def _one_by_one(
    model: Wrapped, data: Dataset, given: dict[str, Explainer], settings: Settings, heard: Any
) -> dict[str, Any]:
    def asked(checks: tuple[str, ...]) -> tuple[int, dict[Any, float]]:
        heard.rows = 0
        found = suite.run(model, data, given, replace(settings, checks=checks))
        return heard.rows, _values(found)

    together, values = asked(settings.checks)
    before, _ = asked(("seconds",))  # asks the model nothing: what remains is the preparation
    each = {check: asked((check,)) for check in dict.fromkeys(check.partition("@")[0] for _, check, _ in values)}
    alone = sum(rows for rows, _ in each.values())
    far = max((abs(v - values[key]) for _, found in each.values() for key, v in found.items()), default=0.0)
    inside = alone - before * len(each)
    return {
        "checks": len(each),
        "answers": together,
        "one by one": alone,
        "share": round(together / alone, 4),
        "in checks": together - before,
        "one by one, in checks": inside,
        "share in checks": round((together - before) / inside, 3),
        "apart": float(f"{far:.2g}"),
    }


def _values(found: Findings) -> dict[Any, float]:
    """Every value that is there, but what was timed."""
    rows = (row for row in found.rows if CHECKS[row.check.partition("@")[0]].path != "cost:seconds")
    return {(r.explanation, r.check, r.at): r.value for r in rows if r.value == r.value}


def memory_(small: bool) -> dict[str, Any]:
    """Twenty thousand digits of MNIST audited, and a model with little memory.

    The peak is that of the process from its start to the report, imports and data included. The narrow model says that
    it is out of memory whenever a batch has more than 16 rows; its audit is compared with that of the same model
    without this limit. A network sums up in another order where a batch has another size, so answers differ in the last
    digit; judges, which learn from them (for one epoch here), come out a little different, and so does a method that is
    trained. `untrained` are the values of the explanation that is not, in checks without judges.
    """
    large = part("memory", "auditing:many", 200 if small else 20_000, small, keep=not small)
    narrow = part("memory", "auditing:narrow", 20 if small else 200, small, keep=not small)
    bars = [
        bar(8, f"{large['rows']} images audited, MB at the peak", large["MB at the peak"], most=LIMIT),
        bar(8, "narrow model: share of its verdicts that are those of the wide one", narrow["same verdicts"], least=1),
        bar(8, "narrow model: largest difference of a value, untrained", narrow["untrained apart by"], most=SAME),
    ]
    return {"bars": bars, "tables": {"Many rows": [large], "A model with little memory": [narrow]}}


def many(n: int, small: bool) -> dict[str, Any]:
    """Peak memory of an audit of n digits; the judges learn from others."""
    drawn = load("digits", seed=0) if small else load("mnist", seed=0, rows=(n, 500, 2000))
    data = replace(drawn, train=drawn.test, test=drawn.train)
    del drawn
    model = api.train_model(data, recipe=grounds.one_epoch(grounds.SHORT))
    explainer = L2X(25, recipe=grounds.one_epoch(grounds.SHORT)).fit(model, data)
    if small:
        smuggling.RECIPE = replace(smuggling.RECIPE, epochs=1)
    ready = memory("VmRSS")
    started = time.process_time()
    api.audit(model, data, {"l2x": explainer, "gradient": "gradient"}, n=n, checks=FEW if small else "default")
    return {
        "rows": n,
        "MB before": round(ready),
        "MB at the peak": round(memory("VmHWM")),
        "seconds": round(time.process_time() - started),
    }


class _Narrow(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.reader = net, net.reader

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > FITS:
            raise torch.OutOfMemoryError(f"CUDA out of memory: {len(x)} rows")
        return self.net(x)


def narrow(n: int, small: bool) -> dict[str, Any]:
    """The same audit of a model that takes 16 rows at most, and of one that takes all."""
    data = load("digits", seed=0)
    wide = api.train_model(data, recipe=grounds.SHORT)
    found = {}
    for name, model in {"wide": wide, "narrow": bind(wrap(_Narrow(wide.module)), data)}.items():
        smuggling.RECIPE = replace(smuggling.RECIPE, epochs=1)
        given = {"l2x": L2X(8, recipe=grounds.SHORT), "gradient": "integrated-gradients"}
        given["l2x"] = given["l2x"].fit(model, data)
        found[name] = api.audit(model, data, given, n=n, pool=200, checks=FEW if small else "default")
    verdicts = [{v.explanation: v.verdict for v in report.verdicts} for report in found.values()]
    same = sum(verdicts[0][name] == verdicts[1][name] for name in verdicts[0]) / len(verdicts[0])
    values = [_values(report.findings) for report in found.values()]
    if values[0].keys() != values[1].keys():
        raise RuntimeError(f"not the same values: {sorted(map(str, values[0].keys() ^ values[1].keys()))}")
    far = {key: abs(values[0][key] - values[1][key]) for key in values[0]}
    plain = [far[key] for key in far if key[0] == "gradient" and key[1].partition("@")[0] in grounds.MODEL_ONLY]
    most = max(far, key=far.__getitem__)
    return {
        "rows": n,
        "same verdicts": same,
        "untrained": len(plain),
        "untrained apart by": max(plain),
        "all": len(far),
        "all apart by": float(f"{far[most]:.2g}"),
        "most in": f"{most[1]} of {most[0]}",
    }
