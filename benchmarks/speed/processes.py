"""A process of its own for each measurement; nothing heavy is imported here, so that the first one stays small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1] / "bench.py"


def apart(path: str, *given: Any) -> Any:
    """`module:function(*given)` of this folder, run in a process of its own; what it returns must fit into JSON."""
    command = [sys.executable, "-W", "ignore", str(BENCH), "--inside", path, json.dumps(given)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{path} ended with {done.returncode}; what it wrote stands above")
    return json.loads(done.stdout.splitlines()[-1])
