"""Files appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unmask.errors import InputError, OutsideError

if TYPE_CHECKING:
    from filelock import FileLock

__all__ = ["add_line", "locked", "new_folder", "read_json", "write_bytes", "write_text"]


def write_text(path: Path, text: str) -> Path:
    """As `write_bytes`, in UTF-8."""
    return write_bytes(path, text.encode("utf-8", errors="replace"))


def write_bytes(path: Path, content: bytes) -> Path:
    """Write beside `path` under another name, then rename; a failure leaves what was there before."""
    beside = path.parent / f".unmask-{secrets.token_hex(6)}.part"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        os.replace(beside, path)
    except (OSError, ValueError) as error:
        raise _cannot(path, error) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            beside.unlink(missing_ok=True)
    return path


def add_line(path: Path, line: str) -> None:
    """Append one line, making file and folder where needed; a last line that was cut off makes room for it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            if file.tell() and _last_byte(file) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            file.write(f"{line}\n".encode())
    except OSError as error:
        raise _cannot(path, error) from error


def _last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)


def locked(path: Path, busy: str = "") -> FileLock:
    """The lock at `path`, held; who comes second waits, or is refused with the words `busy`. Whoever dies lets go."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        lock.acquire(timeout=0 if busy else -1)
    except Timeout as error:
        raise InputError(busy) from error
    except OSError as error:
        raise _cannot(path, error) from error
    return lock


@contextmanager
def new_folder(path: Path, marker: str) -> Iterator[Path]:
    """A temporary folder that becomes `path` at the end; only a folder that holds `marker` is ever replaced."""
    if path.exists() and not (path / marker).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists and was not written by this command; choose another name or move it away")
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}."))
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        yield draft
        os.chmod(draft, 0o777 & ~_umask())
        _swap(draft, path.resolve())
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _swap(draft: Path, path: Path) -> None:
    """`draft` becomes `path`; what stood there goes afterwards, and comes back where the renaming fails."""
    old = draft.with_name(f"{draft.name}.old")
    if path.exists():
        os.replace(path, old)
    try:
        os.replace(draft, path)
    except OSError:
        if old.exists():
            os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_json(path: Path, what: str) -> Any:
    """The JSON in `path`, which should be `what`; a missing or broken file is one sentence."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; expected {what} there") from error
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error}); expected {what} there") from error


def _cannot(path: Path, error: Exception) -> OutsideError:
    reason = getattr(error, "strerror", None) or str(error)
    return OutsideError(f"cannot write {path}: {reason}; name a place with room and leave to write")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
