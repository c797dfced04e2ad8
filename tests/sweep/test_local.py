"""Processes of this machine: one that dies takes nobody with it."""

from __future__ import annotations

import os
from functools import partial

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
