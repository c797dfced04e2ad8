"""Pictures made by hand, read back."""

from __future__ import annotations

import struct
import zlib

from unmask.pixels import border, png


def test_a_png_holds_its_bytes() -> None:
    rgb = bytes(range(18))
    made = png(rgb, 3, 2)
    assert made[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", made[16:24]) == (3, 2)
    at, found = 8, {}
    while at < len(made):
        (size,) = struct.unpack(">I", made[at : at + 4])
        kind, body = made[at + 4 : at + 8], made[at + 8 : at + 8 + size]
        assert struct.unpack(">I", made[at + 8 + size : at + 12 + size]) == (zlib.crc32(kind + body),)
        found[kind], at = body, at + 12 + size
    assert zlib.decompress(found[b"IDAT"]) == b"\0" + rgb[:9] + b"\0" + rgb[9:]


def test_a_border_has_no_line_between_neighbours() -> None:
    assert sorted(border({(0, 0), (1, 0)}).split("M")[1:]) == sorted(
        ["0 0h1", "0 1h1", "0 0v1", "1 0h1", "1 1h1", "2 0v1"]
    )
    assert border(set()) == ""
