"""An audit that is killed, not asked to stop: what was finished is not done again, and the report is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.test_steps import AUDIT, without_seconds

pytestmark = pytest.mark.slow

# The command with short-lived judges, each time in a process of its own: it writes down every check it begins, and is
# killed in the one whose number is given.
SCRIPT = """
import os, signal, sys
from dataclasses import replace
from unmask import api
from unmask.audit import smuggling, suite
from unmask.cli import main, steps, trained

smuggling.SEEDS, smuggling.RECIPE = 1, replace(smuggling.RECIPE, epochs=1)
honest, fit, words = suite._timed, api.fit, sys.argv[1:]

def once(out, die_at):
    def timed(case, subject, check, light):
        with open(f"begun-{out}", "a") as file:
            file.write(f"{subject.name} {check}\\n")
        if sum(1 for _ in open(f"begun-{out}")) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(case, subject, check, light)

    def fitted(*task, method, **how):
        with open(f"fitted-{out}", "a") as file:
            file.write(f"{method}\\n")
        return fit(*task, method=method, **how)

    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    suite._timed, api.fit, sys.argv = timed, fitted, ["unmask", *words, "--out", out]
    sys.stdout = open(os.devnull, "w")
    main()

print([once("disturbed", at) for at in (4, 9, 15, -1)], once("whole", -1))
"""


def report(folder: Path) -> dict[str, Any]:
    return without_seconds(json.loads((folder / "report.json").read_text(encoding="utf-8")))


def test_three_deaths_and_a_fourth_run(place: Path) -> None:
    (place / "audit.py").write_text(SCRIPT, encoding="utf-8")
    words = [*AUDIT, "--method", "occlusion", "--method", "l2x", "--checks", "fs-m,sufficiency,comprehensiveness"]
    done = subprocess.run([sys.executable, "audit.py", *words], cwd=place, capture_output=True, text=True, check=False)
    assert done.stdout == "[-9, -9, -9, 0] 0\n", done.stderr
    begun, whole = (Path(f"begun-{name}").read_text("utf-8").split("\n")[:-1] for name in ("disturbed", "whole"))
    assert len(whole) == len(set(whole)) > 15
    assert sorted(begun) == sorted([*whole, *(begun[at - 1] for at in (4, 9, 15))])  # twice only what was under way
    assert Path("fitted-disturbed").read_text("utf-8").split().count("l2x") == 1  # what was trained is kept too
    assert report(Path("disturbed")) == report(Path("whole"))
    assert not list(Path(".").rglob(".unmask-audit*"))
