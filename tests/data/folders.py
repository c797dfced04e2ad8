"""Small copies of the real sets' files, written for a test."""

from __future__ import annotations

import atexit
import functools
import gzip
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(record) + "\n" for record in records)


def draw(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (12, 10), seed: int = 0) -> None:
    """A picture of one colour with a little noise, of `size` (width, height)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 40, (size[1], size[0], 3))
    Image.fromarray((np.array(colour) + noise).clip(0, 255).astype(np.uint8)).save(path)


@functools.cache
def pictures() -> Path:
    """A folder of two classes with ten pictures each; made once, gone at the end."""
    place = Path(tempfile.mkdtemp(prefix="unmask-pictures-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for label, colour in {"blue": (0, 0, 200), "red": (200, 0, 0)}.items():
        for i in range(10):
            draw(place / label / f"{i}.png", colour, seed=i + 10 * (label == "red"))
    return place
