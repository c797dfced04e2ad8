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


@functools.cache
def beer() -> Path:
    """The files of Lei et al. with a few reviews; made once, gone at the end."""
    place = Path(tempfile.mkdtemp(prefix="unmask-beer-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for part, n in (("train", 40), ("heldout", 20)):
        lines = [
            f"0.5 {0.9 if i % 2 else 0.1} 0.5 0.5 0.5\tit smells {'fine' if i % 2 else 'foul'} {i}" for i in range(n)
        ]
        (place / f"reviews.aspect2.{part}.txt").write_text("\n".join(lines))
    marked = [
        {"x": ["it", "smells", "fine" if i % 2 else "foul"], "y": [0.5, 0.9 if i % 2 else 0.1, 0.5], "1": [[2, 3]]}
        for i in range(20)
    ]
    (place / "annotations.json").write_text("\n".join(json.dumps(row) for row in marked))
    return place
