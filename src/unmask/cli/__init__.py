"""The command `unmask`: parsing here, work elsewhere; nothing heavy is imported before a command runs."""

from __future__ import annotations

import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["StoppedError", "main"]

LONGEST = 1000  # characters of a message
INTERRUPTED = 130  # what a shell expects of a command that Ctrl-C has ended
TERMINATED = 143  # and of one that was asked to end, as schedulers and `docker stop` do


class StoppedError(Exception):
    """Ctrl-C where something is kept; the text says what."""


def main() -> None:
    """Run the command line: a user's mistake is one line and exit code 2, Ctrl-C is exit code 130, SIGTERM 143."""
    with _asked_to_end() as asked:
        _run(asked)


@contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """Inside, SIGTERM is as Ctrl-C: what is done is kept, workers are ended. The list says whether it came."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def end(number: int, frame: object) -> None:
        asked.append(TERMINATED)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(asked: list[int]) -> None:
    from unmask.errors import UnmaskError

    warnings.formatwarning = lambda message, *place, **source: _as_line(message)
    try:
        from unmask.cli.app import app

        code = app(prog_name="unmask", standalone_mode=False) or 0
    except (UnmaskError, OSError) as error:
        _leave(f"error: {_as_options(str(error))}", 2)
    except StoppedError as stop:
        _leave(f"stopped: {stop}", (asked or [INTERRUPTED])[0])
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # the parser's own errors have it; all others are faults of ours
            raise
        _leave(f"error: {error.format_message().rstrip('.')}{_where_to_look(error)}", 2)
    if code == INTERRUPTED:
        _leave("stopped before the work was done", (asked or [INTERRUPTED])[0])
    sys.exit(code)


def _as_line(message: Warning | str) -> str:
    """A warning as one line: where in the library it was made helps nobody."""
    return f"warning: {' '.join(str(message).split())}\n"


def _as_options(text: str) -> str:
    """What the library asks for as arguments, as options: `wrap(model, outputs='logits')` is --outputs logits."""
    named = r"(?:wrap\(model, )?\b(outputs|takes)='(logits|probabilities|array|frame|text)'\)?"
    return re.sub(named, r"--\1 \2", text)


def _where_to_look(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f" (see: {context.command_path} --help)"


def _leave(text: str, code: int) -> None:
    """Say one line on standard error, and go; what a file of noise has for names is not printed as it is."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    print(line if len(line) <= LONGEST else f"{line[:LONGEST]}…", file=sys.stderr)
    sys.exit(code)
