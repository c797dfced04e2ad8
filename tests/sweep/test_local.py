"""Processes of this machine: one that dies takes nobody with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import Any

import pytest

from unmask.sweep.engine import Failure, Handed, Job, Workers, run
from unmask.sweep.local import in_processes

pytestmark = pytest.mark.slow


def test_whoever_ends_its_process_is_found_and_the_others_are_done() -> None:
    good = [Job(str(i), partial(pow, i, 2)) for i in range(6)]
    jobs = [*good[:2], Job("deadly", partial(os._exit, 3)), *good[2:], Job("wrong", partial(int, "x"))]
    outcomes = {o.key: o for o in run(jobs, Workers(jobs=2))}
    assert [outcomes[job.key].result for job in good] == [i * i for i in range(6)]
    assert "its process died" in outcomes["deadly"].result.why
    assert outcomes["deadly"].tries == outcomes["wrong"].tries == 2
    assert outcomes["wrong"].result == Failure("ValueError: invalid literal for int() with base 10: 'x'")
    assert all(outcomes[job.key].tries <= 2 for job in good)


def test_work_is_done_elsewhere() -> None:
    found = dict(in_processes(2, Handed(1), [Job("a", os.getpid), Job("b", os.getpid)], alone=False))
    assert set(found) == {"a", "b"}
    assert os.getpid() not in found.values()


def die_later(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(3)


def test_a_process_that_dies_while_the_caller_is_busy_takes_nobody_with_it() -> None:
    good = [Job(str(i), partial(pow, i, 2)) for i in range(4)]
    outcomes = {}
    for outcome in run([Job("quick", dict), Job("deadly", partial(die_later, 0.5)), *good], Workers(jobs=2)):
        outcomes[outcome.key] = outcome
        if outcome.key == "quick":
            time.sleep(2)  # as when a result is written to a slow disk
    assert [outcomes[job.key].result for job in good] == [i * i for i in range(4)]
    assert "its process died" in outcomes["deadly"].result.why


def test_the_only_job_that_is_left_cannot_end_the_caller() -> None:
    (outcome,) = run([Job("deadly", partial(os._exit, 3))], Workers(jobs=2))
    assert "its process died" in outcome.result.why


HIRING = """
import os, sys, time
from functools import partial
from unmask.sweep.engine import Handed, Job
from unmask.sweep.local import in_processes
for key, pid in in_processes(2, Handed(1), [Job("a", os.getpid), Job("b", partial(time.sleep, 60))], False):
    print(pid, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows does not tell a process that whoever started it has died")
@pytest.mark.parametrize("at_once", [False, True])
def test_who_is_killed_leaves_no_workers_behind(at_once: bool) -> None:
    """Also where the workers are still starting."""
    psutil = pytest.importorskip("psutil", reason="psutil is not installed: pip install psutil")
    with subprocess.Popen([sys.executable, "-c", HIRING], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        hired: list[Any] = []
        while not hired and command.poll() is None:
            hired = psutil.Process(command.pid).children(recursive=True)
        if not at_once:
            pid = int(command.stdout.readline())
            hired = psutil.Process(command.pid).children(recursive=True)
            assert pid in {process.pid for process in hired}
        command.kill()
    _, left = psutil.wait_procs(hired, timeout=60)
    assert left == []


def pools() -> list[int]:
    """Threads of every library of this process that has some, after a look at torch, numpy and scikit-learn."""
    import sklearn.ensemble  # noqa: F401
    import torch
    from threadpoolctl import threadpool_info

    return [torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]


def test_every_library_of_a_worker_has_the_threads_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found: list[Any] = [o.result for o in run([Job("a", pools), Job("b", pools)], Workers(jobs=2, threads=1))]
    assert all(set(threads) == {1} and len(threads) > 2 for threads in found)
