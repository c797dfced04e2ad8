"""Jobs on a Ray cluster: a core each, and a part of a GPU where it is asked for."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from unmask.errors import InputError
from unmask.sweep.engine import Failure, Handed, Job, Workers, attempt, cores

__all__ = ["connected", "on_cluster"]

WINDOW = 1000  # jobs handed to the cluster at a time, where nobody says: it grows by what waits


def on_cluster(
    ray: Any, workers: Workers, handed: Handed, jobs: Sequence[Job], again: bool
) -> Iterator[tuple[str, Any]]:
    """Each job tried once; where a worker or its machine dies, what it was doing failed, and nothing else.

    So it is known who is at fault, and what is tried again is tried side by side as well.
    """
    remote = ray.remote(num_cpus=1, num_gpus=workers.gpus, max_retries=0)(attempt)
    queue, running = deque(jobs), dict[Any, Job]()
    most = workers.jobs or WINDOW
    try:
        while queue or running:
            while queue and len(running) < most:
                job = queue.popleft()
                running[remote.remote(job.work, handed)] = job
            for done in ray.wait(list(running))[0]:
                yield running.pop(done).key, _result(ray, done)
    finally:
        for left in running:
            ray.cancel(left, force=True)


def _result(ray: Any, done: Any) -> Any:
    try:
        return ray.get(done)
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines() or [""]
        return Failure(f"its worker failed ({type(error).__name__}): {said[-1].strip()}")


@contextmanager
def connected(workers: Workers) -> Iterator[Any]:
    """Ray, connected to the cluster; what was started or joined here is left again."""
    try:
        import ray
    except ImportError as error:
        raise InputError('the backend ray needs the package ray; run pip install "unmask[ray]"') from error
    if ray.is_initialized():
        _check_gpus(ray, workers.gpus)
        yield ray
        return
    _check_answers(workers.address)
    own: dict[str, Any] = {"num_cpus": workers.jobs or cores(), "include_dashboard": False}
    here = {} if workers.address else own
    try:
        with _asked_to_end_as_before():
            ray.init(address=workers.address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        if workers.address is None:
            raise InputError(f"Ray could not be started on this machine: {said}; try --backend joblib") from error
        raise InputError(f"no Ray cluster answers at {workers.address}: {said}; see ray status") from error
    try:
        _check_gpus(ray, workers.gpus)
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _asked_to_end_as_before() -> Iterator[None]:
    """Ray takes SIGTERM for itself, and would end this process before anything is said or put away."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():  # else not of Python
            signal.signal(signal.SIGTERM, before)


def _check_answers(address: str | None) -> None:
    """Ray itself waits for minutes where nobody answers."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # none, or "auto"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        said = error.strerror or error
        raise InputError(f"no Ray cluster answers at {address}: {said}; start one with ray start --head") from error


def _check_gpus(ray: Any, wanted: float) -> None:
    """A job that asks for more than any machine has would wait forever."""
    most = max((node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
    if wanted > most:
        raise InputError(
            f"no machine of the cluster has {wanted:g} GPUs for a task (the most is {most:g}); ask for less"
        )
