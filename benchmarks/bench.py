"""Speed and memory, as ratios measured side by side in one run: `make bench`.

    python benchmarks/bench.py                  every case that has no result yet, then docs/benchmarks.md
    python benchmarks/bench.py --fresh          every case anew
    python benchmarks/bench.py --only explain   one case (or several: --only explain,draw); with --fresh only those anew
    python benchmarks/bench.py --small          everything tiny, to see that it works; nothing is written
    python benchmarks/bench.py --render         docs/benchmarks.md from the stored results

Each case runs in a process of its own, with one thread; its results go to benchmarks/results/bench.json as they come.
The long ones (audit, grow, memory) remember their parts below build/bench: cut short, the same command goes on there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import Record
from speed import page
from speed.processes import ROOT, apart, forget

PEERS = ("captum", "lime", "quantus", "shap")
CASES = {
    "explain": "explaining:images",
    "explain-words": "explaining:words",
    "quantus": "checking:shared",
    "quantus-table": "checking:table",
    "loops": "looping:plain",
    "overhead": "checking:overhead",
    "epoch": "fitting:epochs",
    "draw": "drawing:k_hot",
    "compile": "compiling:pays",
    "heap": "keeping:memory_stays",
    "audit": "auditing:defaults",
    "grow": "growing:exponents",
    "memory": "auditing:memory_",
}


def main() -> None:
    given = _arguments()
    if given.inside:
        print(json.dumps(_inside(*given.inside)))
        return
    asked = given.only.split(",") if given.only else list(CASES)
    if strange := [name for name in asked if name not in CASES]:
        sys.exit(f"there is no case {', '.join(strange)}; there are: {', '.join(CASES)}")
    wanted = [name for name in CASES if name in asked]
    record = _stored()
    failed = [name for name in wanted if not given.render and not _done(name, record, given)]
    if not given.small:
        print(page.write({name: record.entries.get(name) for name in CASES}))
    if failed:
        sys.exit(f"these cases failed, run them again: {', '.join(failed)}")


def _stored() -> Record:
    """The results there are: what is measured again is replaced when that is done."""
    record = Record("bench")
    if record.path.exists():
        record.entries = json.loads(record.path.read_text())["entries"]
    return record


def _done(name: str, record: Record, given: argparse.Namespace) -> bool:
    """Whether there is a result; what fails does not stop the others."""
    try:
        if given.small:
            print(name, json.dumps(apart(CASES[name], True), indent=1), flush=True)
        elif given.fresh or name not in record.entries:
            record.entries[name] = _measured(name)
            record.save()
            print(f"{name}: {record.entries[name]['minutes']} minutes", flush=True)
            forget(name)
    except RuntimeError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", action="store_true", help="measure again what has a result")
    parser.add_argument("--only", help=f"cases by name, with commas: {', '.join(CASES)}")
    parser.add_argument("--small", action="store_true", help="tiny sizes, nothing is written")
    parser.add_argument("--render", action="store_true", help="measure nothing, write docs/benchmarks.md")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(name: str) -> dict[str, Any]:
    """What the case returns, with how long it took and how busy the machine was before it."""
    busy, started = os.getloadavg()[0], time.perf_counter()
    found = apart(CASES[name], False)
    taken = {"minutes": round((time.perf_counter() - started) / 60, 1), "load before": round(busy, 2)}
    return {"case": CASES[name], **found, **taken, **_where(), "peers": {peer: version(peer) for peer in PEERS}}


def _where() -> dict[str, Any]:
    """When, with which code and on what the case was measured."""
    code = _git("rev-parse", "--short", "HEAD") + (" and changes" if _git("status", "--short", "src", "*.py") else "")
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    versions = {name: version(name) for name in ("torch", "captum", "scikit-learn")}
    machine = f"{os.cpu_count()} x {next(names, platform.machine())}"
    return {"date": f"{datetime.now(UTC):%Y-%m-%d}", "code": code or None, "machine": machine, "versions": versions}


def _git(*asked: str) -> str:
    """What git says; nothing where there is no git, or no repository."""
    try:
        return subprocess.run(["git", *asked], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _inside(path: str, given: str) -> Any:
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(f"speed.{module}"), function)(*json.loads(given))


if __name__ == "__main__":
    main()
