"""A process of its own for each measurement; nothing heavy is imported here, so that the first one stays small."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1] / "bench.py"
ROOT = BENCH.parents[1]
PARTS = ROOT / "build" / "bench"


def apart(path: str, *given: Any) -> Any:
    """`module:function(*given)` of this folder, run in a process of its own; what it returns must fit into JSON."""
    command = [sys.executable, "-W", "ignore", str(BENCH), "--inside", path, json.dumps(given)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{path} ended with {done.returncode}; what it wrote stands above")
    return json.loads(done.stdout.splitlines()[-1])


def part(case: str, path: str, *given: Any, keep: bool = True) -> Any:
    """`apart` for a part of a long case, kept until the case is done: one that was cut short goes on from there.

    What other code measured is not taken.
    """
    if not keep:
        return apart(path, *given)
    key = json.dumps([path, given, _code()])
    file = PARTS / case / f"{blake2b(key.encode(), digest_size=8).hexdigest()}.json"
    if file.exists():
        return json.loads(file.read_text())
    found = apart(path, *given)
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".part")
    draft.write_text(json.dumps(found))
    draft.replace(file)
    return found


def forget(case: str) -> None:
    """The parts of a case that is done, for it may be measured again."""
    shutil.rmtree(PARTS / case, ignore_errors=True)


def _code() -> str:
    """A fingerprint of the source that is measured and of that which measures."""
    hashed = blake2b(digest_size=8)
    for folder in (ROOT / "src", Path(__file__).parent):
        for file in sorted(folder.rglob("*.py")):
            hashed.update(file.read_bytes())
    return hashed.hexdigest()
