"""Pictures made by hand: the bytes of a PNG, and the border of a set of pixels."""

from __future__ import annotations

import struct
import zlib

__all__ = ["border", "png"]


def border(inside: set[tuple[int, int]]) -> str:
    """The path of an SVG around pixels (x, y), whatever shape they make together."""
    return "".join(_sides(x, y, inside) for x, y in sorted(inside))


def _sides(x: int, y: int, inside: set[tuple[int, int]]) -> str:
    around = {(x, y - 1): f"M{x} {y}h1", (x, y + 1): f"M{x} {y + 1}h1"}
    around |= {(x - 1, y): f"M{x} {y}v1", (x + 1, y): f"M{x + 1} {y}v1"}
    return "".join(side for neighbour, side in around.items() if neighbour not in inside)


def png(rgb: bytes, width: int, height: int) -> bytes:
    """A picture of three bytes for each pixel, row by row."""
    lines = b"".join(b"\0" + rgb[3 * width * y : 3 * width * (y + 1)] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
