"""Your pictures: a folder with one folder for each class, perhaps below train/, validation/ and test/."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from unmask import progress
from unmask.data import sizes, splits
from unmask.data.layouts import image_layout
from unmask.errors import InputError
from unmask.types import Dataset

__all__ = ["image_folder"]

ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
PARTS = ("train", "validation", "test")
ALSO = {"training": "train", "valid": "validation", "val": "validation", "dev": "validation", "testing": "test"}
COPIES = 3  # the pixels, and the two copies on the way to their means and spreads
Found = list[tuple[Path, str]]  # pictures and their classes


def image_folder(
    name: str, seed: int, path: str | Path | None = None, size: int = 224, patch: int = 4, rows: Any = None
) -> Dataset:
    """Centre squares brought to `size` by `size` pixels in [0, 1], red, green and blue; units are cells of `patch`.

    The folders train, validation and test are taken where they are there: without validation its rows come out of
    train, and with train and val alone, as ImageNet has them, val is the test. Otherwise each class is split 60/20/20.
    `rows` limits the three. All pictures must fit into memory, which is looked at first.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"size is the number of pixels across and down and must be at least 1, got {size!r}")
    layout = image_layout((3, size, size), patch)
    caps = sizes.caps(rows, "default", sizes.SMALL)
    root = _root(path)
    given = _given(root)
    classes = _classes(root, given)
    chosen = _chosen(given, classes, caps, seed)
    _check_room(root, sum(map(len, chosen)), size)
    with progress.bar(f"reading {root.name}", sum(map(len, chosen))) as step:
        pixels = [_decoded([file for file, _ in part], size, step) for part in chosen]
    labels = [torch.tensor([classes.index(label) for _, label in part]) for part in chosen]
    made = [splits.array_split(x, y, layout) for x, y in zip(pixels, labels, strict=True)]
    notes = {"source": "own pictures", "size": size, "split": "60/20/20 by class" if "" in given else "by folder"}
    return splits.joined(name, layout, classes, made, notes)


def _root(path: str | Path | None) -> Path:
    if path is None:
        raise InputError('say where the pictures are: load("image-folder", path="..."), one folder for each class')
    root = Path(str(path)).expanduser()
    if not root.is_dir():
        raise InputError(f"there is no folder {root}; path must name a folder with one folder for each class")
    return root


def _given(root: Path) -> dict[str, Found]:
    """The pictures of each part, by the names of the folders; all under "" where the folders are classes."""
    below = {folder.name: folder for folder in _folders(root)}
    parts = {ALSO.get(name.lower(), name.lower()): folder for name, folder in below.items()}
    if below and set(parts) <= set(PARTS) and all(_folders(folder) for folder in below.values()):
        if len(parts) < len(below):
            raise InputError(f"{root} names one part twice: {', '.join(below)}; merge the two or rename one")
        given = {part: _pictures(folder) for part, folder in parts.items()}
    else:
        given = {"": _pictures(root)}
    if "" not in given and "train" not in given:
        raise InputError(f"{root} has {', '.join(below)} but no train; add it, or put the classes side by side")
    if "" not in given and "test" not in given:
        if "validation" not in given:
            raise InputError(f"{root} has train alone; add test, or put the classes side by side to have them split")
        given["test"] = given.pop("validation")
    return given


def _folders(place: Path) -> list[Path]:
    return sorted(folder for folder in place.iterdir() if folder.is_dir() and not folder.name.startswith("."))


def _pictures(place: Path) -> Found:
    """Every picture in the class folders of `place`, however deep, in the order of their names."""
    return [
        (file, folder.name)
        for folder in _folders(place)
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in ENDINGS and file.is_file() and not file.name.startswith(".")
    ]


def _classes(root: Path, given: Mapping[str, Found]) -> tuple[str, ...]:
    """The classes of the training rows; every other part must keep to them."""
    learned = given.get("train", given.get("", []))
    classes = tuple(sorted({label for _, label in learned}))
    if len(classes) < 2:
        held = f"only {classes[0]!r}" if classes else f"none ({', '.join(sorted(ENDINGS))} are read)"
        raise InputError(f"{root} must hold folders with the pictures of at least two classes, got {held}")
    for part, found in given.items():
        if not found:
            raise InputError(f"{root / part} holds no pictures; add some or remove the folder")
        strange = sorted({label for _, label in found} - set(classes))
        if strange:
            raise InputError(f"{part} of {root} has the class {strange[0]!r}, which train lacks; match them up")
    return classes


def _chosen(given: Mapping[str, Found], classes: Sequence[str], caps: sizes.Caps, seed: int) -> list[Found]:
    """Train, validation and test."""
    codes = {part: torch.tensor([classes.index(label) for _, label in found]) for part, found in given.items()}
    if "" in given:
        few = [name for name, count in zip(classes, codes[""].bincount().tolist(), strict=True) if count < len(PARTS)]
        if few:
            raise InputError(f"a class needs at least 3 pictures to be split, but {few[0]!r} has fewer; add some")
        pieces = splits.shares(codes[""], seed)
        drawn = [piece[sizes.some(codes[""][piece], cap, seed)] for piece, cap in zip(pieces, caps, strict=True)]
        return [_at(given[""], index) for index in drawn]
    last = _at(given["test"], sizes.some(codes["test"], caps[2], seed))
    if "validation" in given:
        first, second = (sizes.some(codes[part], cap, seed) for part, cap in zip(PARTS, caps[:2], strict=False))
        return [_at(given["train"], first), _at(given["validation"], second), last]
    first, second = sizes.held_out(codes["train"], caps[0], caps[1], seed)
    if not len(first) or not len(second):
        raise InputError(f"train has {len(codes['train'])} pictures, too few to put some aside; add validation/")
    return [_at(given["train"], first), _at(given["train"], second), last]


def _at(found: Found, index: Tensor) -> Found:
    return [found[i] for i in index.tolist()]


def _check_room(root: Path, n: int, size: int) -> None:
    """Refuse before the first picture is read what would not fit into memory."""
    needed, free = COPIES * n * 3 * size * size * 4, _free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{n} pictures of {root} at {size} by {size} pixels need about {needed / 1e9:.1f} GB of memory, but "
            f"{free / 1e9:.1f} GB are free; take fewer with rows=(train, validation, test), or a smaller size"
        )


def _free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _decoded(files: Sequence[Path], size: int, step: Any) -> Tensor:
    """(n, 3, size, size) in [0, 1]."""
    pixels = torch.empty(len(files), 3, size, size)
    for row, file in zip(pixels, files, strict=True):
        row.copy_(torch.from_numpy(_square(file, size)).permute(2, 0, 1).float().div(255))
        step(file.name)
    return pixels


def _square(file: Path, size: int) -> Any:
    """(size, size, 3) uint8: the picture upright, its centre square resized."""
    try:
        with Image.open(file) as opened:
            upright = ImageOps.exif_transpose(opened)
            return np.array(ImageOps.fit(_coloured(upright), (size, size), Image.Resampling.BICUBIC))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as fault:
        raise InputError(f"{file} cannot be read as a picture ({fault}); mend it or take it away") from fault


def _coloured(picture: Image.Image) -> Image.Image:
    """Red, green and blue in eight bits; what is transparent becomes white."""
    if picture.mode == "F":
        raise ValueError("its pixels are decimal numbers of unknown range")
    if picture.mode.startswith("I"):  # grey in sixteen bits
        picture = Image.fromarray((np.asarray(picture) // 257).clip(0, 255).astype(np.uint8))
    if picture.has_transparency_data:
        clear = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    return picture.convert("RGB")
