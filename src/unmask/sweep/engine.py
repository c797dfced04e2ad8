"""One engine for all that is done many times over: jobs in, outcomes out as they come.

What fails is tried once more when all others are done, and then reported; it never stops the others.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from unmask.errors import InputError, OutsideError, unknown

__all__ = [
    "BACKENDS",
    "Failure",
    "Handed",
    "Job",
    "LateError",
    "Outcome",
    "Workers",
    "attempt",
    "cores",
    "joined",
    "run",
    "waiting",
]

BACKENDS = ("joblib", "ray")
TRIES = 2
Tried = Callable[[Sequence["Job"], bool], Iterator[tuple[str, Any]]]
"""Tries each of some jobs once: at the same time, or (True) once more, where it must show which of them is at fault."""
Told = Callable[[str, "Failure"], None]
"""Hears of a job that failed and will be tried again."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HANDED = ("UNMASK_DATA",)  # folders that workers are told of from the caller's environment


@dataclass(frozen=True)
class Job:
    """`work` is a function with its arguments that can be sent to another process: a `partial` of a named one."""

    key: str
    work: Callable[[], Any]


@dataclass(frozen=True)
class Failure:
    """Why a job gave nothing; `final`: what was asked for cannot be done in any try, so it is not tried again."""

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
    """Who does the work: `jobs` at a time (None: as many as there are cores, or one where they would share a GPU), each
    with `threads` threads and for `limit` seconds at most (None: as long as it takes).

    Where `jobs` is said to be 1 all is done in this process, else nothing: whatever ends a worker leaves this one
    alive. On Ray every job takes a core and `gpus` of a GPU, and without `address` a cluster is started on this
    machine. `threads` None: one in other processes, in this one as many as there are.
    """

    backend: Literal["joblib", "ray"] | str = "joblib"
    jobs: int | None = None
    address: str | None = None
    gpus: float = 0.0
    threads: int | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise unknown("backend", self.backend, BACKENDS)
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"jobs is how many tasks run at a time and must be at least 1, got {self.jobs}")
        whole = math.isfinite(self.gpus) and self.gpus == int(self.gpus)
        if not (0 <= self.gpus <= 1 or (self.gpus > 1 and whole)):
            raise InputError(f"gpus must be a part of one GPU, such as 0.25, or a whole number, got {self.gpus:g}")
        for name, given in (("address", self.address), ("gpus", self.gpus)):
            if self.backend != "ray" and given:
                raise InputError(f"{name} is for the backend ray, got it with {self.backend}; add --backend ray")
        if self.limit is not None and self.backend != "ray" and not hasattr(signal, "SIGALRM"):
            raise InputError("a time limit needs Linux or macOS; leave --limit out")

    @property
    def at_once(self) -> int:
        """How many jobs run on this machine at a time."""
        return self.jobs or _usual_jobs()


@dataclass(frozen=True)
class Handed:
    """What every worker is told: threads, and what it must know of the caller's environment."""

    threads: int | None
    environment: tuple[tuple[str, str], ...] = ()
    limit: float | None = None
    apart: bool = True  # in a process of its own, whose progress nobody sees


class LateError(BaseException):
    """A job took too long; no `except Exception` on its way keeps it from ending."""


def run(jobs: Sequence[Job], workers: Workers, told: Told | None = None) -> Iterator[Outcome]:
    """The outcome of each job, once each, in the order in which they are ready; `told` hears what is tried again."""
    if len({job.key for job in jobs}) < len(jobs):
        raise InputError("two jobs have the same key; every job needs one of its own")
    if jobs:
        with _hired(workers, len(jobs)) as tried:
            yield from _outcomes(jobs, tried, told)


def joined(workers: Workers) -> AbstractContextManager[object]:
    """Inside, a Ray cluster is joined once for all that runs there; elsewhere there is nothing to join."""
    if workers.backend != "ray":
        return nullcontext()
    from unmask.sweep.cluster import connected

    return connected(workers)


def _outcomes(jobs: Sequence[Job], tried: Tried, told: Told | None) -> Iterator[Outcome]:
    """All jobs at the same time, then once more those that failed."""
    by_key, waiting = {job.key: job for job in jobs}, list(jobs)
    for tries in range(1, TRIES + 1):
        again = []
        for key, result in tried(waiting, tries > 1):
            if not isinstance(result, Failure) or result.final or tries == TRIES:
                yield Outcome(key, result, tries)
                continue
            again.append(by_key[key])
            if told is not None:
                told(key, result)
        waiting = again


@contextmanager
def _hired(workers: Workers, jobs: int) -> Iterator[Tried]:
    """Who tries jobs once."""
    known = tuple((name, os.path.abspath(os.environ[name])) for name in HANDED if os.environ.get(name))
    threads = workers.threads or _usual()
    if workers.backend == "ray":
        from unmask.sweep.cluster import connected, on_cluster

        with connected(workers) as ray:
            yield partial(on_cluster, ray, workers, Handed(threads, known, workers.limit))
    elif workers.jobs == 1:
        yield partial(_here, Handed(workers.threads, limit=workers.limit, apart=False))
    else:
        from unmask.sweep.local import in_processes

        yield partial(in_processes, min(workers.at_once, jobs), Handed(threads, known, workers.limit))


def _usual() -> int:
    """Threads of a worker where nobody says: as the environment has it (of "4,2" the first number), else one."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, int(first)) if first.isdigit() else 1


def _usual_jobs() -> int:
    """Jobs at a time where nobody says: as many as this process may use cores; on a GPU, which all would share, one."""
    from unmask import devices

    return cores() if devices.pick().type == "cpu" else 1


def cores() -> int:
    """How many cores this process may use."""
    import joblib

    return max(1, int(joblib.cpu_count()))


def _here(handed: Handed, jobs: Sequence[Job], alone: bool) -> Iterator[tuple[str, Any]]:
    """Each job in this process, one after the other."""
    return ((job.key, attempt(job.work, handed)) for job in jobs)


def attempt(work: Callable[[], Any], handed: Handed) -> Any:
    """What the work gives, or why it gave nothing; who calls `sys.exit` ends its own work, Ctrl-C ends it all."""
    try:
        if handed.apart:
            _settle(handed)
        with _threads(handed.threads), _within(handed.limit):
            return work()
    except LateError as late:
        return Failure(str(late), final=True)
    except (Exception, SystemExit) as error:
        final = isinstance(error, InputError) and not isinstance(error, OutsideError)
        return Failure(f"{type(error).__name__}: {error}", final)


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


@contextmanager
def _within(limit: float | None) -> Iterator[None]:
    """Whoever is inside for longer is thrown out, as soon as Python has a word; only the main thread can be told."""
    if limit is None or not _has_alarm():
        yield
        return

    def ring(*_: object) -> None:
        raise LateError(f"it took longer than {limit:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def waiting() -> Iterator[None]:
    """Inside, time does not count: a job that waits for another one is not late."""
    left = signal.setitimer(signal.ITIMER_REAL, 0)[0] if _has_alarm() else 0.0
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left)


def _has_alarm() -> bool:
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
