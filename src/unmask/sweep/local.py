"""Jobs in processes of this machine, by the executor of joblib."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from unmask.sweep.engine import Failure, Handed, Job, attempt

__all__ = ["in_processes"]

LOOKS = 2.0  # seconds between two looks of a worker whether whom it works for is still there


def in_processes(most: int, handed: Handed, jobs: Sequence[Job], alone: bool) -> Iterator[tuple[str, Any]]:
    """Each job tried once. Where a process dies, those under way failed; the others go on in new processes.

    Tried `alone`, whoever ends its process is known.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    queue, at_once = deque(jobs), 1 if alone else most
    while queue:
        pool = ProcessPoolExecutor(at_once, initializer=_calm, initargs=(os.getpid(),))
        try:
            yield from _while_whole(pool, queue, at_once, handed)
        finally:  # Ctrl-C, too: nobody is waited for
            pool.shutdown(kill_workers=True)


def _while_whole(pool: Any, queue: deque[Job], at_once: int, handed: Handed) -> Iterator[tuple[str, Any]]:
    """Results until the queue is empty or a process has died; no more is handed out than is worked on at a time."""
    running: dict[Future[Any], Job] = {}
    whole = True
    while running or (queue and whole):
        while queue and whole and len(running) < at_once:
            try:
                running[pool.submit(attempt, queue[0].work, handed)] = queue[0]
            except BrokenProcessPool:  # a process died while nobody looked; those under way tell of it
                whole = False
            else:
                queue.popleft()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            error = future.exception()
            whole = whole and not isinstance(error, BrokenProcessPool)
            yield running.pop(future).key, future.result() if error is None else Failure(_why(error))


def _why(error: BaseException) -> str:
    if isinstance(error, BrokenProcessPool):
        return "its process died (killed, or out of memory), or that of one beside it"
    return f"{type(error).__name__}: {error}"


def _calm(parent: int) -> None:
    """Ctrl-C is for the process that gave the work; it ends the others.

    Where that is killed itself they end, too, on systems that tell of it: Windows does not.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS)
    os._exit(1)
