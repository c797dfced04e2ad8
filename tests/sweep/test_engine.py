"""Every job once, what fails once more, and nothing of the process is changed afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask.errors import InputError, OutsideError
from unmask.sweep import engine
from unmask.sweep.engine import Failure, Handed, Job, Outcome, Workers, attempt, run, waiting

HERE = Workers(jobs=1)


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    """Work that fails so often before it succeeds, and a list of its calls."""
    calls: list[int] = []

    def work() -> str:
        calls.append(len(calls))
        if len(calls) <= times:
            raise error
        return "done"

    return work, calls


def test_every_job_has_one_outcome() -> None:
    jobs = [Job(str(i), partial(pow, i, 2)) for i in range(5)]
    assert list(run(jobs, HERE)) == [Outcome(str(i), i * i) for i in range(5)]
    assert list(run([], HERE)) == []


def test_what_fails_is_tried_once_more_when_the_others_are_done() -> None:
    work, calls = failing(1, ValueError("no luck"))
    outcomes = list(run([Job("a", work), Job("b", dict)], HERE))
    assert outcomes == [Outcome("b", {}), Outcome("a", "done", tries=2)]
    assert len(calls) == 2


def test_what_fails_twice_is_reported_and_stops_nobody() -> None:
    work, calls = failing(9, ValueError("no luck"))
    outcomes = {o.key: o for o in run([Job("a", work), Job("b", dict)], HERE)}
    assert outcomes["a"].result == Failure("ValueError: no luck")
    assert (outcomes["a"].tries, len(calls), outcomes["b"].result) == (2, 2, {})


def test_a_mistake_of_the_caller_is_not_tried_again() -> None:
    work, calls = failing(9, InputError("k is too large"))
    (outcome,) = run([Job("a", work)], HERE)
    assert outcome.result == Failure("InputError: k is too large", final=True)
    assert len(calls) == 1


def test_what_failed_outside_is_tried_again() -> None:
    work, calls = failing(1, OutsideError("the model failed: TimeoutError"))
    assert list(run([Job("a", work)], HERE)) == [Outcome("a", "done", tries=2)]
    assert len(calls) == 2


def test_ctrl_c_is_no_failure() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run([Job("a", stop)], HERE))


def test_who_exits_ends_its_own_job_only() -> None:
    outcomes = {o.key: o for o in run([Job("a", partial(sys.exit, 3)), Job("b", int)], HERE)}
    assert outcomes == {"a": Outcome("a", Failure("SystemExit: 3"), tries=2), "b": Outcome("b", 0)}


def test_two_jobs_of_one_key_are_refused() -> None:
    with pytest.raises(InputError, match="two jobs have the same key"):
        list(run([Job("a", dict), Job("a", dict)], HERE))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"backend": "rai"}, "unknown backend 'rai'; did you mean 'ray'"),
        ({"jobs": 0}, "at least 1, got 0"),
        ({"backend": "ray", "gpus": 1.5}, "a part of one GPU, such as 0.25, or a whole number, got 1.5"),
        ({"backend": "ray", "gpus": -1}, "got -1"),
        ({"backend": "ray", "gpus": float("inf")}, "got inf"),
        ({"backend": "ray", "gpus": float("nan")}, "got nan"),
        ({"address": "here:1"}, "address is for the backend ray"),
        ({"gpus": 0.5}, "gpus is for the backend ray"),
    ],
)
def test_workers_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Workers(**settings)


def test_threads_are_set_for_the_work_alone() -> None:
    before = torch.get_num_threads()
    assert attempt(torch.get_num_threads, Handed(before + 1, apart=False)) == before + 1
    assert torch.get_num_threads() == before


def test_a_worker_knows_where_data_are_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "1")
    monkeypatch.setenv("UNMASK_DATA", "here")
    told = Handed(None, (("UNMASK_DATA", "/data"),))
    found = attempt(lambda: [engine.os.environ[name] for name in ("UNMASK_PROGRESS", "UNMASK_DATA")], told)
    assert found == ["0", "/data"]


@pytest.mark.parametrize(("said", "threads"), [("4,2", 4), ("3", 3), ("", 1), ("0", 1), ("many", 1)])
def test_workers_have_the_threads_of_the_environment(said: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert engine._usual() == threads


def test_no_jobs_need_nobody() -> None:
    assert list(run([], Workers("ray", address="nowhere:1"))) == []


def test_what_is_tried_again_is_told_at_once() -> None:
    work, _ = failing(1, ValueError("no luck"))
    told: list[tuple[str, str]] = []
    outcomes = list(run([Job("a", work), Job("b", dict)], HERE, lambda key, failure: told.append((key, failure.why))))
    assert told == [("a", "ValueError: no luck")]
    assert len(outcomes) == 2


def test_what_takes_too_long_is_ended_and_not_tried_again() -> None:
    def stubborn() -> None:
        with contextlib.suppress(Exception):  # as code does that goes on whatever happens
            time.sleep(30)

    outcomes = {o.key: o for o in run([Job("slow", stubborn), Job("quick", dict)], Workers(jobs=1, limit=0.2))}
    assert outcomes["slow"] == Outcome("slow", Failure("it took longer than 0.2 seconds", final=True))
    assert outcomes["quick"].result == {}
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_other_threads_have_no_limit_and_no_error() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(attempt, lambda: 3, Handed(None, limit=0.1, apart=False)).result() == 3


def test_a_gpu_is_not_shared_where_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    for device, jobs in (("cpu", 8), ("cuda", 1), ("mps", 1)):
        monkeypatch.setattr("unmask.devices.pick", lambda device=device: torch.device(device))
        assert (Workers().at_once, Workers(jobs=3).at_once) == (jobs, 3)


@pytest.mark.slow
def test_one_at_a_time_is_elsewhere_where_nobody_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that breaks the GPU, or its process, breaks nothing else."""
    monkeypatch.setattr(engine, "_usual_jobs", lambda: 1)
    (elsewhere,) = run([Job("a", os.getpid)], Workers())
    (here,) = run([Job("a", os.getpid)], HERE)
    assert here.result == os.getpid() != elsewhere.result


def test_a_limit_that_nobody_can_keep_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGALRM", raising=False)
    with pytest.raises(InputError, match="a time limit needs Linux or macOS"):
        Workers(limit=60)


@pytest.mark.slow
def test_who_waits_for_another_is_not_late() -> None:
    def work() -> str:
        with waiting():
            time.sleep(2.5)
        return "done"

    def slow() -> None:
        work()
        time.sleep(30)

    outcomes = {o.key: o for o in run([Job("waits", work), Job("slow", slow)], Workers(jobs=1, limit=2))}
    assert outcomes["waits"].result == "done"
    assert outcomes["slow"].result == Failure("it took longer than 2 seconds", final=True)
    with waiting():  # where nothing is limited, nothing is
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_workers_are_told_where_data_are_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_DATA", "near")
    told: list[Handed] = []
    monkeypatch.setattr("unmask.sweep.local.in_processes", lambda most, handed, jobs, alone: told.append(handed) or [])
    assert list(run([Job("a", dict)], Workers(jobs=2))) == []
    assert told[0].environment == (("UNMASK_DATA", str(tmp_path / "near")),)
