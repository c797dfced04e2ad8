"""One engine for all that is done many times over: jobs in, outcomes out as they come.

What fails is tried once more when all others are done, and then reported; it never stops the others. The same jobs
give the same results wherever they run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from unmask.errors import InputError, unknown

__all__ = ["BACKENDS", "Failure", "Handed", "Job", "Outcome", "Workers", "attempt", "run"]

BACKENDS = ("joblib", "ray")
TRIES = 2
Tried = Callable[[Sequence["Job"], bool], Iterator[tuple[str, Any]]]
"""Tries each of some jobs once: at the same time, or (True) each alone."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HANDED = ("UNMASK_DATA",)  # what workers are told of the caller's environment


@dataclass(frozen=True)
class Job:
    """`work` is a function with its arguments that can be sent to another process: a `partial` of a named one."""

    key: str
    work: Callable[[], Any]


@dataclass(frozen=True)
class Failure:
    """Why a job gave nothing; `final`: what was asked for cannot be done, so it is not tried again."""

    why: str
    final: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a job gave in the end, a Failure where it gave nothing, and how often it was tried."""

    key: str
    result: Any
    tries: int = 1


@dataclass(frozen=True)
class Workers:
    """Who does the work: `jobs` at a time (None: as many as there are cores), each with `threads` threads.

    With `jobs` 1 all is done in this process, else nothing: whatever ends a worker leaves this one alive. On Ray every
    job takes a core and `gpus` of a GPU, and without `address` a cluster is started on this machine. `threads` None:
    one in other processes, in this one as many as there are.
    """

    backend: Literal["joblib", "ray"] | str = "joblib"
    jobs: int | None = None
    address: str | None = None
    gpus: float = 0.0
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise unknown("backend", self.backend, BACKENDS)
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"jobs is how many tasks run at a time and must be at least 1, got {self.jobs}")
        if self.gpus < 0 or (self.gpus > 1 and self.gpus != int(self.gpus)):
            raise InputError(f"gpus must be a part of one GPU, such as 0.25, or a whole number, got {self.gpus:g}")
        for name, given in (("address", self.address), ("gpus", self.gpus)):
            if self.backend != "ray" and given:
                raise InputError(f"{name} is for the backend ray, got it with {self.backend}; add --backend ray")

    @property
    def at_once(self) -> int:
        """How many jobs run on this machine at a time."""
        return self.jobs or os.cpu_count() or 1


@dataclass(frozen=True)
class Handed:
    """What every worker is told: threads, and what it must know of the caller's environment."""

    threads: int | None
    environment: tuple[tuple[str, str], ...] = ()
    apart: bool = True  # in a process of its own, whose progress nobody sees


def run(jobs: Sequence[Job], workers: Workers) -> Iterator[Outcome]:
    """The outcome of each job, once each, in the order in which they are ready."""
    if len({job.key for job in jobs}) < len(jobs):
        raise InputError("two jobs have the same key; every job needs one of its own")
    if jobs:
        with _hired(workers, len(jobs)) as tried:
            yield from _outcomes(jobs, tried)


def _outcomes(jobs: Sequence[Job], tried: Tried) -> Iterator[Outcome]:
    """All jobs at the same time, then those that failed, each alone."""
    by_key, waiting = {job.key: job for job in jobs}, list(jobs)
    for tries in range(1, TRIES + 1):
        again = []
        for key, result in tried(waiting, tries > 1):
            if isinstance(result, Failure) and not result.final and tries < TRIES:
                again.append(by_key[key])
            else:
                yield Outcome(key, result, tries)
        waiting = again


@contextmanager
def _hired(workers: Workers, jobs: int) -> Iterator[Tried]:
    """Who tries jobs once."""
    known = tuple((name, os.environ[name]) for name in HANDED if name in os.environ)
    threads = workers.threads or _usual()
    if workers.backend == "ray":
        from unmask.sweep.cluster import connected, on_cluster

        with connected(workers) as ray:
            yield partial(on_cluster, ray, workers, Handed(threads, known))
    elif workers.at_once == 1:
        yield partial(_here, Handed(workers.threads, apart=False))
    else:
        from unmask.sweep.local import in_processes

        yield partial(in_processes, min(workers.at_once, jobs), Handed(threads, known))


def _usual() -> int:
    """Threads of a worker where nobody says: as the environment has it (of "4,2" the first number), else one."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, int(first)) if first.isdigit() else 1


def _here(handed: Handed, jobs: Sequence[Job], alone: bool) -> Iterator[tuple[str, Any]]:
    """Each job in this process, one after the other."""
    return ((job.key, attempt(job.work, handed)) for job in jobs)


def attempt(work: Callable[[], Any], handed: Handed) -> Any:
    """What the work gives, or why it gave nothing; who calls `sys.exit` ends its own work, Ctrl-C ends it all."""
    try:
        if handed.apart:
            _settle(handed)
        with _threads(handed.threads):
            return work()
    except (Exception, SystemExit) as error:
        return Failure(f"{type(error).__name__}: {error}", final=isinstance(error, InputError))


def _settle(handed: Handed) -> None:
    """A worker draws no progress, and knows what the caller's environment says."""
    os.environ.update({"UNMASK_PROGRESS": "0", **dict(handed.environment)})
    if handed.threads is not None:  # for libraries that are yet to be loaded
        os.environ.update(dict.fromkeys(THREADS, str(handed.threads)))


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Inside, torch and the libraries below numpy and scikit-learn have so many threads.

    Sums are made in the same order everywhere, and a machine full of workers is not asked for more than it has.
    """
    if count is None:
        yield
        return
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)
