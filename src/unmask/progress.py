"""One live display for all long work; nested bars share it. Silent unless standard error is a terminal."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from unmask.errors import UnmaskWarning

__all__ = ["bar", "say", "shown", "warn"]

_live: list[Any] = []  # the running rich display, if any


def shown() -> bool:
    """Whether bars are drawn: `UNMASK_PROGRESS` = 0 or 1 decides, otherwise a terminal does."""
    wish = os.environ.get("UNMASK_PROGRESS")
    return wish != "0" if wish else sys.stderr.isatty()


def say(text: str) -> None:
    """One line where bars are drawn."""
    if shown():
        print(text, file=sys.stderr)


def warn(text: str) -> None:
    """What nobody should miss: a line where bars are drawn, elsewhere a warning, for notebooks and logs to show."""
    if shown():
        say(text)
    else:
        warnings.warn(text, UnmaskWarning, stacklevel=2)


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar over `total` steps; the function it hands out moves it by one and shows a note beside it."""
    if not shown():
        yield _nothing
        return
    if _live:
        with _task(_live[0], title, total) as step:
            yield step
        return
    with _display() as display, _task(display, title, total) as step:
        yield step


def _nothing(note: str = "") -> None:
    """Where nothing is shown, a step is nothing."""


def _advance(display: Any, task: Any, note: str = "") -> None:
    display.update(task, advance=1, note=note)


@contextmanager
def _display() -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=console, transient=True) as display:
        _live.append(display)
        try:
            yield display
        finally:
            _live.clear()


@contextmanager
def _task(display: Any, title: str, total: int) -> Iterator[Callable[[str], None]]:
    task = display.add_task(title, total=total, note="")
    try:
        yield partial(_advance, display, task)
    finally:
        display.remove_task(task)
