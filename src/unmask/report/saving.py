"""A text written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from unmask.errors import InputError

__all__ = ["write"]


def write(path: Path, text: str) -> Path:
    """Write beside `path` under another name, then rename; a failure leaves what was there before."""
    beside = path.parent / f".unmask-{secrets.token_hex(6)}.part"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text.encode("utf-8", errors="replace"))
        os.replace(beside, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot write {path}: {reason}; name a file in a folder with room and leave to write"
        ) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            beside.unlink(missing_ok=True)
    return path
