"""What an annotator sees of one row: the kept words, sentences, columns or pixels, and nothing else."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from unmask.data.frames import FrameCodec
from unmask.types import Frames, Inputs, Layout

__all__ = ["NOTHING", "Shown", "brightness", "shown"]

NOTHING = "(nothing was selected)"
GAP = "…"  # between kept words or sentences that did not stand beside each other
SIDE = 224  # pixels: smaller pictures are enlarged to about this
Named = tuple[str, str]  # a column and its value


@dataclass(frozen=True)
class Shown:
    """One of the three: a text, the kept units with their named values, or a PNG."""

    text: str = ""
    units: tuple[tuple[str, tuple[Named, ...]], ...] = ()
    picture: bytes = b""

    @property
    def line(self) -> str:
        """All but the picture, as one line."""
        told = ((f"{unit}: {value}" if unit == name else f"{unit}, {name}: {value}") for unit, name, value in self.flat)
        return "; ".join(told) if self.units else self.text

    @property
    def flat(self) -> list[tuple[str, str, str]]:
        return [(unit, name, value) for unit, values in self.units for name, value in values]


def shown(
    x: Inputs, kept: Tensor, layout: Layout, frames: Frames | None = None, span: tuple[float, float] = (0.0, 1.0)
) -> list[Shown]:
    """Each row of `x` with its kept units alone; `span` is the darkest and the brightest value of pictures."""
    if layout.is_text:
        return [Shown(text=_text(row, keep, layout)) for row, keep in zip(x, kept.tolist(), strict=True)]
    if layout.kind == "image":
        visible = layout.spread(kept)[:, 0]
        return [Shown(picture=_png(row, see, span)) for row, see in zip(x, visible, strict=True)]
    return _tables(x, kept.tolist(), layout, frames)


def brightness(x: Tensor) -> tuple[float, float]:
    """The darkest and brightest value of a set of pictures, the same for all: 0..1, 0..255, or what occurs.

    Whole numbers are taken for bytes where the brightest is in the upper half of their range: dark pictures stay dark.
    """
    seen = x[x.isfinite()]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    if low >= 0:
        bytes_ = 128 <= high <= 255 and bool((seen == seen.round()).all())
        low, high = 0.0, 255.0 if bytes_ else max(1.0, high)
    return low, high if high > low else low + 1


def _text(row: Any, keep: list[bool], layout: Layout) -> str:
    """Kept words in a line, kept sentences in lines, a gap where something between them is hidden."""
    between = "\n" if layout.kind == "sentences" else " "
    units = [unit if isinstance(unit, str) else " ".join(unit) for unit in row]
    runs = [(see, list(run)) for see, run in groupby(zip(units, keep, strict=False), key=lambda pair: pair[1])]
    parts = [between.join(unit for unit, _ in run) if see else GAP for see, run in runs]
    return between.join(parts) if any(see for see, _ in runs) else NOTHING


def _tables(x: Tensor, kept: list[list[bool]], layout: Layout, frames: Frames | None) -> list[Shown]:
    names, owners, rows = _columns(x, layout, frames)
    made = []
    for row, keep in zip(rows, kept, strict=True):
        told: dict[int, list[Named]] = {unit: [] for unit, see in enumerate(keep) if see}
        for name, unit, value in zip(names, owners, row, strict=True):
            if unit in told:
                told[unit].append((name, _value(value)))
        units = tuple((layout.units[unit], tuple(values)) for unit, values in told.items())
        made.append(Shown(text="" if units else NOTHING, units=units))
    return made


def _columns(x: Tensor, layout: Layout, frames: Frames | None) -> tuple[list[str], list[int], list[list[Any]]]:
    """Names of what stands in a row, the unit of each, and the rows; one-hot columns are their category again."""
    if isinstance(frames, FrameCodec):
        starts = torch.tensor([0, *(column.width for column in frames.columns)]).cumsum(0)[:-1].tolist()
        frame = frames.decode(x)
        rows = [list(row) for row in zip(*(frame[column.name].tolist() for column in frames.columns), strict=True)]
        return [column.name for column in frames.columns], [layout.owner[start] for start in starts], rows
    width = torch.bincount(torch.tensor(layout.owner)).tolist()
    count = dict.fromkeys(range(layout.d), 0)
    names = []
    for unit in layout.owner:
        count[unit] += 1
        names.append(layout.units[unit] if width[unit] == 1 else f"{layout.units[unit]} {count[unit]}")
    return names, list(layout.owner), x.tolist()


def _value(value: Any) -> str:
    if value is None or value != value:  # only NaN differs from itself
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _png(row: Tensor, visible: Tensor, span: tuple[float, float]) -> bytes:
    """A picture whose hidden (and missing) pixels are transparent, and black beneath."""
    low, high = span
    colours = row[:3] if len(row) in (3, 4) else row.mean(0, keepdim=True).expand(3, -1, -1)  # a fourth is opacity
    known = visible & row.isfinite().all(0)
    values = ((colours - low) / (high - low)).clamp(0, 1).mul(255).round().nan_to_num().masked_fill(~known, 0)
    stacked = torch.cat([values, 255.0 * known[None]]).byte().permute(1, 2, 0)
    picture = Image.fromarray(stacked.contiguous().numpy())
    height, width = row.shape[1:]
    times = max(1, math.floor(SIDE / max(height, width)))
    out = io.BytesIO()
    picture.resize((times * width, times * height), Image.Resampling.NEAREST).save(out, "PNG", optimize=True)
    return out.getvalue()
