"""What the benchmark scripts share: results saved as they come, with versions, so that a run can be cut and resumed."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small networks: a second thread only gets in the way

RESULTS = Path(__file__).parent / "results"


class Record:
    """Entries by key in one JSON file; an entry that is there is not computed again unless `--fresh` is given."""

    def __init__(self, name: str) -> None:
        self.path = RESULTS / f"{name}.json"
        fresh = "--fresh" in sys.argv or not self.path.exists()
        self.entries: dict[str, Any] = {} if fresh else json.loads(self.path.read_text())["entries"]
        self.summary: dict[str, Any] = {}

    def entry(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.entries:
            self.entries[key] = make()
            self.save()
            print(key, json.dumps(self.entries[key]), flush=True)
        return self.entries[key]

    def save(self) -> None:
        facts = {name: version(name) for name in ("unmask", "torch", "captum", "scikit-learn")}
        text = {
            "command": f"python benchmarks/{Path(sys.argv[0]).name}",
            "versions": {"python": platform.python_version(), **facts},
            "summary": self.summary,
            "entries": self.entries,
        }
        self.path.parent.mkdir(exist_ok=True)
        draft = self.path.with_suffix(".part")
        draft.write_text(json.dumps(text, indent=1) + "\n")
        draft.replace(self.path)


def rounded(value: float, digits: int = 4) -> float | None:
    """A number fit for JSON: nan becomes null."""
    return round(value, digits) if value == value else None
