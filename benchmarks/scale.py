"""Auditing a model of 10^9 parameters on 10^7 rows, on paper: tasks timed here, their graph simulated for a cluster.

Measured on this machine: how the time of a pass grows with the parameters, how many rows each check of a default audit
asks the model about, what judges, bootstrap sums and an empty task cost, and whether the simulation of a graph says
how long the engine takes for it. What an epoch of fitting costs was measured by bench.py, in its case `epoch`.
Assumed, since there is no such cluster here: what stands in ASSUMED.
The page docs/scale.md tells what it comes to.
"""

from __future__ import annotations

import heapq
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import nn

from common import RESULTS, Record
from unmask import api
from unmask.audit import curves, infidelity, light, smuggling, suite
from unmask.data import load
from unmask.explainers.l2x import L2X
from unmask.models import Wrapped
from unmask.sweep.engine import Job, Workers, run
from unmask.training import Recipe

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
PARAMETERS, ROWS, TOKENS = 10**9, 10**7, 256
METHODS = {"l2x": "L2X", "meed": "MEED", "mimic": "Mimic"}
OTHER = "somebody else's"
EXPLANATIONS = len(METHODS) + 1  # the methods and one that somebody else made
CONTROLS = 3  # come on top, and are not fitted
RESAMPLES = 1000
GRADIENTS = "integrated gradients of captum, 50 steps"
ASSUMED = {
    "flop per second and GPU": 1e14,  # a third of what is printed on an accelerator of 2022 for 16-bit numbers
    "bytes per second and machine": 1.25e9,  # 10 Gbit
    "GPUs of a machine": 8,
    "bytes per parameter": 2,
    "bytes per row": 2 * TOKENS,  # numbers of tokens
    "dollars per GPU hour": 2.0,
    "seconds to load weights from a local disk": 20.0,
    "judges of long texts, in judges of the reviews measured here": 10,
    "passes to explain a row": 1.5,  # what bench.py holds explainers to
    "rows of a fit": 20_000,
    "epochs of a fit": 6,
    "passes of a training step of the model": 3,  # one forward, two back
}
AGAIN = {  # checks that ask nothing since another one has asked it
    "sufficiency": "fs-m",
    "comprehensiveness": "fu-m",
}
CURVES = ("insertion", "deletion")
CAPPED = (curves, infidelity, light)  # who asks about ROWS of the rows at most
SIZES = {True: (50, 100), False: (300, 600)}  # rows audited: everything on all of them, and as a default audit has it
BEFORE = "before the checks"
RATIOS = "epochs of the model for one of a fit"
EXPLAINING = "passes to explain a row, fewest and most measured"
JUDGED = ("encoding-gain", "reading", "half-gain", "eval-x", "mask-only", "approximator-gap")


# --- measured ---------------------------------------------------------------------------------------------------------


def passes() -> dict[str, Any]:
    """Seconds for a row of 32 tokens through transformers of growing width, and the exponent in the parameters."""
    found = []
    for width in (128, 256, 512, 1024):
        net = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True), 3, enable_nested_tensor=False
        ).eval()
        x = torch.randn(8, 32, width)
        with torch.inference_mode():
            seconds = fastest(lambda net=net, x=x: net(x), 7) / len(x)
        count = sum(p.numel() for p in net.parameters())
        found.append({"parameters": count, "seconds a row": seconds, "flop per second": 2 * count * 32 / seconds})
    logs = [[torch.tensor(f[key]).log() for f in found] for key in ("parameters", "seconds a row")]
    slope = torch.linalg.lstsq(torch.stack([torch.stack(logs[0]), torch.ones(4)], 1), torch.stack(logs[1])[:, None])
    return {"sizes": found, "exponent": round(float(slope.solution[0]), 3)}


def fastest(work: Callable[[], object], repeats: int) -> float:
    """Seconds of a core, the fewest of some runs: others may work on this machine."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def asked(n: int, explanations: int, everywhere: bool, brief: bool = True) -> dict[str, dict[str, float]]:
    """For each check of a default audit of n rows: rows asked about and seconds of a core, explanations and controls.

    A default audit makes curves, infidelity and its light looks on a hundred of the rows; `everywhere`, on all. Where
    it is `brief` the judges learn for one epoch, which changes no answer of the model.
    """
    data = load("reviews:preset=easy,n=3000", seed=0)
    model, count = counting(api.train_model(data, recipe=Recipe(epochs=3)))
    given = {f"l2x-{seed}": L2X(8, recipe=Recipe(epochs=3, seed=seed)).fit(model, data) for seed in range(explanations)}
    honest, rows, seconds = suite._timed, Counter[str](), Counter[str]()

    def timed(case: Any, subject: Any, check: str, light: bool) -> Any:
        before, started = count[0], time.process_time()
        found = honest(case, subject, check, light)
        rows[check] += count[0] - before
        seconds[check] += time.process_time() - started
        return found

    count[0] = 0
    usual = {module: module.ROWS for module in CAPPED}
    with ExitStack() as after:
        after.callback(setattr, suite, "_timed", honest)
        after.callback(setattr, smuggling, "RECIPE", smuggling.RECIPE)
        for module, most in usual.items():
            after.callback(setattr, module, "ROWS", most)
            module.ROWS = n if everywhere else most
        smuggling.RECIPE = replace(smuggling.RECIPE, epochs=1) if brief else smuggling.RECIPE
        suite._timed = timed
        api.audit(model, data, given, n=n)
    rows[BEFORE] = count[0] - sum(rows.values())
    return {"rows": dict(rows), "seconds": {check: round(taken, 3) for check, taken in seconds.items()}}


def name(n: int, explanations: int, everywhere: bool) -> str:
    """Of an entry."""
    where = "everything on all rows" if everywhere else "by default"
    return f"{n} rows, {explanations} explanations, {where}"


def counting(model: Wrapped) -> tuple[Wrapped, list[int]]:
    """The same model, and how many rows it was asked about so far."""
    call, count = model.call, [0]

    def counted(rows: Any) -> Any:
        count[0] += len(rows)
        return call(rows)

    return replace(model, call=counted), count


def sums(rows: int = 20_000, resamples: int = RESAMPLES) -> float:
    """Seconds a row for the sums of a Poisson bootstrap of 64 numbers."""
    values, rng = torch.randn(rows, 64), torch.Generator().manual_seed(0)

    def work() -> None:
        for part in values.split(2000):
            torch.poisson(torch.ones(resamples, len(part)), generator=rng) @ part

    return fastest(work, 3) / rows


def epochs() -> dict[str, float]:
    """Epochs of the model that one of each fit costs, as bench.py measured it; of somebody else's, as the dearest."""
    values = benched("epoch")
    found = {method: values[f"epoch of {method} over the model's"] for method in METHODS}
    return found | {OTHER: max(found.values())}


def explaining() -> tuple[float, float]:
    """Fewest and most passes that explaining a row took on top of the model call, as bench.py measured it."""
    values = benched("explain") | benched("explain-words")
    passes = [value for what, value in values.items() if what.endswith("passes on top of the model call")]
    return min(passes), max(passes)


def with_gradients(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts where the explanation of somebody else is integrated gradients, asked for as it is by bench.py."""
    fits = {**facts["seconds a fit"], OTHER: 0.0}
    more = facts["passes a row"] - ASSUMED["passes to explain a row"] + facts[GRADIENTS]
    return {**facts, "passes a row": more, "seconds a fit": fits}


def gradients() -> float:
    """Passes that integrated gradients take for a row, as bench.py measured it."""
    (rows, *_) = json.loads((RESULTS / "bench.json").read_text("utf-8"))["entries"]["explain"]["tables"].values()
    return next(float(row["passes"]) for row in rows if row["method"] == GRADIENTS)


def benched(case: str) -> dict[str, float]:
    """What bench.py measured in a case, by what it is."""
    stored = json.loads((RESULTS / "bench.json").read_text("utf-8"))
    return {bar["what"]: bar["value"] for bar in stored["entries"][case]["bars"]}


# --- the engine against the simulation --------------------------------------------------------------------------------


def nap(seconds: float) -> tuple[float, float]:
    """A task that takes a known time without needing a core: when it began and ended."""
    began = time.time()
    time.sleep(seconds)
    return began, time.time()


def engine(backend: str, jobs: int = 4) -> dict[str, float]:
    """40 tasks of 0.1 to 0.5 seconds on four workers: what the simulation says, and what it took once they stood."""
    naps = [0.1 + 0.4 * (7 * i % 40) / 39 for i in range(40)]
    started = time.time()
    tasks = [Job(str(i), partial(nap, seconds)) for i, seconds in enumerate(naps)]
    outcomes = {int(o.key): o.result for o in run(tasks, Workers(backend, jobs))}
    stood = sorted(began for began, _ in outcomes.values())[jobs - 1]  # when every worker had its first task
    took = max(end for _, end in outcomes.values()) - stood
    planned = simulated([Task(seconds) for seconds in naps], jobs)
    idle = jobs * took - sum(end - began for began, end in outcomes.values())
    return {
        "simulated seconds": round(planned, 3),
        "seconds": round(took, 3),
        "ratio": round(took / planned, 3),
        "seconds to hire workers": round(stood - started, 2),
        "seconds lost for a task": round(max(0.0, idle) / len(naps), 4),
    }


# --- the graph --------------------------------------------------------------------------------------------------------


FIRST = 2 * EXPLANATIONS + CONTROLS  # before the first shard: fits, and judges of explanations and controls


@dataclass(frozen=True)
class Task:
    """So many seconds of a worker, once the tasks at these places in the list are done."""

    seconds: float
    after: tuple[int, ...] = ()
    moved: float = 0.0  # bytes


def simulated(
    tasks: Sequence[Task], workers: int, *, start: float = 0.0, deaths: Sequence[tuple[float, int]] = ()
) -> float:
    """When the last task ends: whoever is free takes the next one that is ready; who dies loses what it was doing.

    What is lost is tried again, side by side, when all is done that does not wait for it. `start` is what every worker
    needs before its first task. `deaths`: when, and which worker; it is replaced.
    """
    waits = {i: len(task.after) for i, task in enumerate(tasks)}
    follows: dict[int, list[int]] = {}
    for i, task in enumerate(tasks):
        for before in task.after:
            follows.setdefault(before, []).append(i)
    ready = [i for i, count in waits.items() if count == 0]
    heapq.heapify(ready)
    free, running, now, left = [(start, w) for w in range(workers)], list[tuple[float, int, int]](), 0.0, list(deaths)
    lost: list[int] = []
    while ready or running or lost:
        if not ready and not running:
            ready, lost = sorted(lost), []
        while ready and free:
            since, worker = heapq.heappop(free)
            i = heapq.heappop(ready)
            heapq.heappush(running, (max(now, since) + tasks[i].seconds, i, worker))
        if left and left[0][0] <= running[0][0]:
            now, victim = left.pop(0)
            lost += [i for _, i, worker in running if worker == victim]
            running = [entry for entry in running if entry[2] != victim]
            heapq.heapify(running)
            free = [entry for entry in free if entry[1] != victim] + [(now + start, victim)]
            heapq.heapify(free)
            continue
        now, i, worker = heapq.heappop(running)
        heapq.heappush(free, (now, worker))
        for j in follows.get(i, ()):
            waits[j] -= 1
            if waits[j] == 0:
                heapq.heappush(ready, j)
    return now


def graph(facts: dict[str, Any], rows: int, shard: int, sharing: bool) -> list[Task]:
    """Fits and judges on a few thousand rows beside the shards of all rows; sums of each shard meet in the end.

    `sharing`: all that is asked about a row is asked once, where the row is. Without it every check is a task of its
    own: rows and explanations move to it, and it asks again what another check has asked.
    """
    row, network = facts["seconds a pass"], ASSUMED["bytes per second and machine"] / ASSUMED["GPUs of a machine"]
    fits = [Task(seconds) for seconds in facts["seconds a fit"].values()]
    judges = [Task(facts["seconds of judges"], (i,)) for i in range(EXPLANATIONS)]
    tasks = [*fits, *judges, *[Task(facts["seconds of judges"])] * CONTROLS]
    calls = {"together": facts["passes a row"]} if sharing else facts["passes by check, each for itself"]
    ready = tuple(range(EXPLANATIONS))
    shards = []
    for _ in range(-(-rows // shard)):
        for count in calls.values():
            moved = shard * (ASSUMED["bytes per row"] + (0 if sharing else facts["bytes of answers"]))
            busy = shard * (count * row + facts["seconds of sums a row"] / len(calls)) + moved / network
            tasks.append(Task(busy + facts["seconds lost for a task"], ready, moved))
            shards.append(len(tasks) - 1)
    sums = len(shards) // len(calls) * facts["bytes of sums a shard"]  # all come to one machine
    tasks.append(Task(sums / ASSUMED["bytes per second and machine"], (*shards, *range(EXPLANATIONS, FIRST))))
    return tasks


def counted(record: Record, everywhere: bool) -> tuple[dict[str, float], float]:
    """Passes that each check needs for a row, and rows asked about however many are audited; for all explanations."""
    few, many = SIZES[everywhere]
    found = [[record.entries[name(n, e, everywhere)]["rows"] for n in (few, many)] for e in (1, 2)]

    def whole(check: str) -> tuple[float, float]:
        (a, b), (c, d) = ([rows.get(check, 0) for rows in pair] for pair in found)
        slopes = (b - a) / (many - few), (d - c) / (many - few)
        fixed = b - many * slopes[0], d - many * slopes[1]
        slope, rest = (one + (EXPLANATIONS - 1) * (two - one) for one, two in (slopes, fixed))
        return slope, rest

    checks = {check: whole(check) for check in found[1][1]}
    a_row = {check: round(slope, 2) for check, (slope, _) in checks.items() if slope > 0 and check != BEFORE}
    a_row["answers and explanations"] = 1 + EXPLANATIONS * ASSUMED["passes to explain a row"]
    return a_row, sum(rest for _, rest in checks.values())


def projected(record: Record, everywhere: bool) -> dict[str, Any]:
    """The measured facts brought to the large model and its machines."""
    by_check, constant = counted(record, everywhere)
    alone = {check: 1 + count for check, count in by_check.items()}  # each asks for the answer to the whole row
    alone |= {check: 1 + by_check[first] for check, first in AGAIN.items()}
    curve = {check: 1 + (EXPLANATIONS + CONTROLS) * (len(curves.STEPS) - 1) for check in CURVES if check in by_check}
    alone |= curve  # together they leave out what the others have asked
    full = record.entries["seconds of an audit"]["seconds"]
    judges = judging(full)
    flop = 2 * PARAMETERS * TOKENS
    a_pass = flop / ASSUMED["flop per second and GPU"]
    ratios, of_fit = epochs(), ("rows of a fit", "epochs of a fit", "passes of a training step of the model")
    return {
        "passes by check": by_check,
        "passes by check, each for itself": alone,
        "passes a row": round(sum(by_check.values()), 1),
        "rows asked about whatever n is": round(constant),
        "seconds a pass": a_pass,
        "seconds a pass on a core here": round(
            flop / record.entries["a pass by size"]["sizes"][-1]["flop per second"], 2
        ),
        RATIOS: ratios,
        EXPLAINING: explaining(),
        GRADIENTS: gradients(),
        "seconds a fit": {
            method: math.prod(ASSUMED[part] for part in of_fit) * ratio * a_pass for method, ratio in ratios.items()
        },
        "seconds of judges": judges * ASSUMED["judges of long texts, in judges of the reviews measured here"]
        + constant / (EXPLANATIONS + CONTROLS) * a_pass,
        "seconds of sums a row": record.entries["bootstrap sums a row"] * len(full) * (EXPLANATIONS + CONTROLS) / 64,
        "bytes of answers": 4 * 2 * (EXPLANATIONS + CONTROLS),
        "bytes of sums a shard": 8 * RESAMPLES * len(full) * (EXPLANATIONS + CONTROLS),
        **{key: record.entries["engine ray"][key] for key in ("seconds to hire workers", "seconds lost for a task")},
    }


def judging(seconds: Mapping[str, float]) -> float:
    """Seconds of the judges of one explanation, where those of one and of the controls were measured."""
    return sum(seconds.get(check, 0.0) for check in JUDGED) / (1 + CONTROLS)


def planned(
    facts: dict[str, Any], gpus: int, shard: int = 512, *, rows: int = ROWS, sharing: bool = True, deaths: int = 0
) -> dict[str, float]:
    """Hours, dollars and gigabytes of one way to do it; `deaths` workers die, evenly over the time."""
    tasks = graph(facts, rows, shard, sharing)
    start = facts["seconds to hire workers"] + ASSUMED["seconds to load weights from a local disk"]
    seconds = simulated(tasks, gpus, start=start)
    if deaths:
        who = torch.randint(gpus, (deaths,), generator=torch.Generator().manual_seed(0)).tolist()
        times = [seconds * (i + 1) / (deaths + 1) for i in range(deaths)]
        seconds = simulated(tasks, gpus, start=start, deaths=list(zip(times, who, strict=True)))
    weights = -(-gpus // ASSUMED["GPUs of a machine"]) * PARAMETERS * ASSUMED["bytes per parameter"]
    work = sum(task.seconds for task in tasks)
    return {
        "rows": rows,
        "GPUs": gpus,
        "rows a shard": shard,
        "tasks": len(tasks),
        "hours": round(seconds / 3600, 4),
        "busy": round(work / gpus / seconds, 3),
        "GPU hours": round(gpus * seconds / 3600),
        "dollars": round(gpus * seconds / 3600 * ASSUMED["dollars per GPU hour"]),
        "gigabytes moved": round((sum(task.moved for task in tasks) + weights) / 1e9, 3),
        "deaths": deaths,
    }


# --- the page ---------------------------------------------------------------------------------------------------------


def told(stored: dict[str, Any]) -> list[str]:
    """What docs/scale.md says in numbers, word for word: what was measured, and what follows from it."""
    entries, summary = stored["entries"], stored["summary"]
    facts, default = summary["facts"], summary["facts of a default audit"]
    by_check, joblib, ray = facts["passes by check"], entries["engine joblib"], entries["engine ray"]
    curve = sum(by_check[check] for check in ("aopc-sufficiency", "aopc-comprehensiveness", *CURVES))
    full = entries["seconds of an audit"]["seconds"]
    sizes = [size["parameters"] / 1e6 for size in entries["a pass by size"]["sizes"]]
    whole, little = shown(facts["passes a row"]), shown(default["passes a row"])
    return [
        f"by parameters, {shown(sizes[0], 1)} to {shown(sizes[-1])} million | "
        f"exponent {shown(entries['a pass by size']['exponent'], 2)}",
        f"| {little} for four explanations and three controls",
        f"| {round(default['rows asked about whatever n is'], -3):,}: curves",
        f"| {whole}: counterfactual edits {shown(by_check['counterfactual'])}, AOPC with insertion and deletion "
        f"{shown(curve)}, infidelity {shown(by_check['infidelity'])} (asked once for all explanations), all else "
        f"{little}",
        f"| {shown(judging(full))} s for 2,000 reviews",
        f"of every number of a row | {shown(1e3 * facts['seconds of sums a row'], 2)} ms",
        f"| {shown(ray['simulated seconds'], 1)} s simulated; {shown(joblib['seconds'], 1)} s with joblib, "
        f"{shown(ray['seconds'], 1)} s with Ray, after {shown(joblib['seconds to hire workers'], 1)} s and "
        f"{shown(ray['seconds to hire workers'])} s to hire the workers",
        f"takes {shown(1e3 * facts['seconds a pass'])} ms ({shown(facts['seconds a pass on a core here'])} s on a core",
        *told_of_assumed(facts),
        *told_of_shards(facts, default, len(full)),
        *told_of_costs(summary),
    ]


def told_of_assumed(facts: dict[str, Any]) -> list[str]:
    """What is assumed of machines, explaining, fitting and judges, and what follows for a fit."""
    ratios, seconds = ([facts[key][m] for m in METHODS] for key in (RATIOS, "seconds a fit"))
    step, network = ASSUMED["passes of a training step of the model"], ASSUMED["bytes per second and machine"]
    few, many = (shown(value, 1) for value in facts[EXPLAINING])
    return [
        f"10^{shown(math.log10(ASSUMED['flop per second and GPU']))} operations a second on each GPU, "
        f"{ASSUMED['GPUs of a machine']} GPUs and {shown(8 * network / 1e9)} Gbit on each machine, "
        f"{shown(ASSUMED['dollars per GPU hour'])} dollars for a GPU hour",
        f"loads the weights in {shown(ASSUMED['seconds to load weights from a local disk'])} seconds",
        f"takes {ASSUMED['passes to explain a row']} passes",
        f"; {few} to {many} were measured",
        f"are not fitted but take {shown(facts[GRADIENTS])} passes for each row",
        f"Judges take {ASSUMED['judges of long texts, in judges of the reviews measured here']} times as long",
        f"fitted for {ASSUMED['epochs of a fit']} epochs on {ASSUMED['rows of a fit']:,} rows",
        f"a training step of the model is {step} passes",
        f"an epoch of {listed(METHODS.values())} costs {listed(shown(ratio, 1) for ratio in ratios)} epochs",
        f"that is {listed(shown(step * ratio) for ratio in ratios)} passes a row, and a fit takes "
        f"{listed(shown(taken / 60) for taken in seconds)} minutes",
    ]


def listed(words: Iterable[str]) -> str:
    """With commas, and the last with an `and`."""
    *first, last = words
    return f"{', '.join(first)} and {last}"


def told_of_shards(facts: dict[str, Any], default: dict[str, Any], checks: int, shard: int = 512) -> list[str]:
    """How long a shard takes, how much of the work shards are, and what moves."""
    (few, of_few), (much, of_much) = (_share(graph(found, ROWS, shard, sharing=True)) for found in (default, facts))
    numbers, row, copies = checks * (EXPLANATIONS + CONTROLS), ASSUMED["bytes per row"], facts["passes a row"]
    sums = facts["bytes of sums a shard"]
    return [
        f"yes: {shown(100 * of_few, 1)}% of the work of a default audit, {shown(100 * of_much, 2)}% with everything",
        f"A shard is {shard} rows and takes {shown(few)} seconds, or {shown(much / 60)} minutes with everything on "
        f"every row: long beside the {shown(facts['seconds lost for a task'], 2)} s that a task costs on Ray",
        f"once ({shown(PARAMETERS * ASSUMED['bytes per parameter'] / 1e9)} GB)",
        f"({shown(row / 1e3, 1)} KB a row, {shown(row * ROWS / 1e9)} GB in all)",
        f"sums back ({numbers} numbers, 1,000 resamples: {shown(sums / 1e6, 1)} MB a shard, "
        f"{shown(sums * -(-ROWS // shard) / 1e9)} GB in all",
        f"{shown(row / 1e3, 1)} KB each and up to {shown(copies)} for each row, would be "
        f"{shown(row * copies * ROWS / 1e12)} TB",
    ]


def _share(tasks: Sequence[Task]) -> tuple[float, float]:
    """Seconds of one shard, and how much of all seconds shards are."""
    shards = tasks[FIRST:-1]
    return shards[0].seconds, sum(task.seconds for task in shards) / sum(task.seconds for task in tasks)


def told_of_costs(summary: dict[str, Any]) -> list[str]:
    """The table of costs, and what is said below it."""
    alone, shared = summary["every check a task of its own"], summary["by GPUs"][2]
    most, (_, middle, large) = summary["by GPUs"][-1], summary["a default audit"]
    times = shown(large["dollars"] / middle["dollars"], 1)
    rows = [
        *(("10^7 | a default audit", plan) for plan in summary["a default audit"]),
        ("10^7 | the same, integrated gradients for the fourth explanation", summary["with integrated gradients"]),
        *(("10^7 | everything on every row", plan) for plan in summary["by GPUs"]),
        ("10^7 | the same, every check a task of its own", alone),
        ("10^4, drawn from the 10^7 | everything on every row", summary["ten thousand rows"]),
        ("10^4 | a default audit", summary["ten thousand rows, a default audit"]),
    ]
    first, *larger = [plan for plan in summary["by shard, 50 workers die"] if plan["rows a shard"] >= 512]
    others = ", ".join(f"{_hours(plan)} with {plan['rows a shard']:,}" for plan in larger)
    return [
        *(f"| {what} | {_cells(plan)} |" for what, plan in rows),
        f"With {first['deaths']} of {first['GPUs']} workers dying",
        f"{_hours(first)} hours with shards of {first['rows a shard']} rows, {others}.",
        f"Checks that ask for themselves cost {shown(100 * (alone['dollars'] / shared['dollars'] - 1))}% more",
        f"At {most['GPUs']} GPUs nearly all wait {shown(max(summary['facts']['seconds a fit'].values()) / 60)} minutes",
        f"at {middle['GPUs']} already: {large['GPUs']} GPUs cost {times} times as much",
        f"known to ±{shown(98 / 10_000**0.5, 2)} points or better from 10,000 rows, to ±{shown(98 / ROWS**0.5, 2)}",
        f"Ten thousand rows cost {summary['ten thousand rows']['dollars']} dollars",
    ]


def _cells(plan: dict[str, Any]) -> str:
    costs = f"{plan['GPU hours']:,} | {plan['dollars']:,} | {shown(plan['gigabytes moved'])} GB"
    return f"{plan['GPUs']} | {plan['rows a shard']} | {_hours(plan)} | {shown(100 * plan['busy'], 1)}% | {costs}"


def _hours(plan: dict[str, Any]) -> str:
    return shown(plan["hours"], 0 if plan["hours"] >= 1000 else 1)


def shown(value: float, digits: int = 0) -> str:
    """With so many digits after the point, halves rounded up as people do."""
    return f"{Decimal(f'{value:.9g}').quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"


def main() -> None:
    torch.set_num_threads(1)
    record = Record("scale")
    stored = json.loads(record.path.read_text("utf-8")) if record.path.exists() else {}
    record.entry("a pass by size", passes)
    record.entry("bootstrap sums a row", sums)
    for backend in ("joblib", "ray"):
        record.entry(f"engine {backend}", partial(engine, backend))
    for everywhere, sizes in SIZES.items():
        for n, e in product(sizes, (1, 2)):
            record.entry(name(n, e, everywhere), partial(asked, n, e, everywhere))
    record.entry("seconds of an audit", partial(asked, 200, 1, everywhere=False, brief=False))
    facts, default = (projected(record, everywhere=every) for every in (True, False))
    record.summary = {
        "assumed": ASSUMED,
        "facts": facts,
        "facts of a default audit": default,
        "by GPUs": [planned(facts, gpus) for gpus in (8, 64, 256, 1024)],
        "by shard, 50 workers die": [planned(facts, 256, shard, deaths=50) for shard in (128, 512, 2048, 8192, 32768)],
        "every check a task of its own": planned(facts, 256, sharing=False),
        "a default audit": [planned(default, gpus) for gpus in (8, 64, 256)],
        "with integrated gradients": planned(with_gradients(default), 8),
        "ten thousand rows": planned(facts, 8, 256, rows=10_000),
        "ten thousand rows, a default audit": planned(default, 8, 256, rows=10_000),
    }
    record.save()
    if stored:
        after = told(json.loads(record.path.read_text("utf-8")))
        PAGE.write_text(followed(PAGE.read_text("utf-8"), told(stored), after), "utf-8")


def followed(page: str, before: Sequence[str], after: Sequence[str]) -> str:
    """The page with what it said before as it is to be said now; where lines end stays as it was."""
    for old, new in zip(before, after, strict=True):
        words = r"(\s+)".join(re.escape(word) for word in old.split())
        found = re.search(words, page)
        if found is None:
            raise ValueError(f"{PAGE.name} does not say: {old}")
        spaces = found.groups() if len(new.split()) == len(old.split()) else [" "] * len(new.split())
        said = "".join(
            word + space for word, space in zip_longest(new.split(), spaces[: len(new.split()) - 1], fillvalue="")
        )
        page = page[: found.start()] + said + page[found.end() :]
    return page


if __name__ == "__main__":
    main()
