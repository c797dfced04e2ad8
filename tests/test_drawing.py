from __future__ import annotations

import base64
import re
import subprocess
import sys
import zlib
from dataclasses import replace

import pytest

from unmask.drawing import Drawing, Row
from unmask.errors import InputError

NAN = float("nan")
WORDS = Row("words", ["a", "dull", "film"], [0.1, 2.0, -1.0], [False, True, True], "negative")
TABLE = Row("table", [1.5, NAN, 0.0, 1.0], [0.5, -1.0, 0.1], [True, True, False], "ill", ["age", "weight", "site"])
TABLE = replace(TABLE, owner=[0, 1, 2, 2], shape=[4])
IMAGE = Row("image", [0.0, 0.5, 1.0, NAN], [1.0, 0.0, -1.0, 0.0], [True, False, True, False], "7")
IMAGE = replace(IMAGE, units=["p0", "p1", "p2", "p3"], owner=[0, 1, 2, 3], shape=[1, 2, 2])
SENTENCES = replace(WORDS, kind="sentences", values=["One thing.", "Another thing.", "The end."])
EVERY = (WORDS, SENTENCES, TABLE, IMAGE)


def pixels(html: str) -> list[list[tuple[int, ...]]]:
    """The picture inside a drawing, decoded by hand."""
    found = re.search(r"base64,([^\"]+)", html)
    assert found
    data = base64.b64decode(found[1])
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    start = data.index(b"IDAT")
    size = int.from_bytes(data[start - 4 : start], "big")
    raw = zlib.decompress(data[start + 4 : start + 4 + size])
    lines = [raw[y * (3 * width + 1) + 1 : (y + 1) * (3 * width + 1)] for y in range(height)]
    return [[tuple(line[3 * x : 3 * x + 3]) for x in range(width)] for line in lines]


def test_words_in_plain_text():
    assert str(Drawing(WORDS)) == "explained class: negative\na [dull] [film −]"


def test_sentences_stand_on_lines_of_their_own():
    assert str(Drawing(SENTENCES)).splitlines()[1:] == ["One thing.", "[Another thing.]", "[The end. −]"]


def test_table_in_plain_text():
    lines = str(Drawing(TABLE)).splitlines()
    assert lines[1] == "  weight  missing  -1.000 ▒▒▒▒▒▒▒▒▒▒▒▒"
    assert lines[2] == "  age         1.5  +0.500 ██████"
    assert lines[3] == "  not kept: site"


def test_image_in_plain_text():
    assert str(Drawing(IMAGE)).splitlines()[1:3] == [" +▒▒", "█-??"]


def test_large_image_fits_eighty_columns():
    side = 90
    kept = [p == side + 1 for p in range(side * side)]
    row = Row("image", [0.0] * side**2, [float(k) for k in kept], kept, "x", [str(p) for p in range(side**2)])
    lines = str(Drawing(replace(row, owner=list(range(side**2)), shape=[1, side, side]))).splitlines()
    assert max(map(len, lines[1:-1])) <= 80
    assert lines[1].startswith(" +")


def test_rich_shows_the_same_text():
    for row in EVERY:
        assert Drawing(row).__rich__().plain == str(Drawing(row))


def test_kept_words_are_marked_by_more_than_colour():
    html = Drawing(WORDS).html
    assert re.findall(r"<mark[^>]*>(\w+)</mark>", html) == ["dull", "film"]
    assert 'title="score +2.000"' in html
    assert "rgba(58,146,236,0.50)" in html
    assert "rgba(240,138,36,0.25)" in html


def test_what_people_marked_is_framed_in_one_piece():
    marked = replace(WORDS, marked=[True, True, False])
    html = Drawing(marked).html
    frames = re.findall(r'<span class="unmask-people"[^>]*>(.*?)</span>', html)
    assert len(frames) == 1
    assert re.sub("<[^>]+>", "", frames[0]) == "a dull"
    assert "dashed" in html
    assert "marked by people</div>" in html
    assert "people" not in Drawing(WORDS).html
    assert re.sub("<[^>]+>", "", html).startswith("explained class: negativea dull film")


def test_table_lists_kept_columns_first_and_folds_the_rest():
    html = Drawing(TABLE).html
    kept, rest = html.split("<details")
    assert "missing" in kept
    assert kept.index("weight") < kept.index("age")
    assert "1 not kept" in rest
    assert "0, 1" in rest


def test_of_many_columns_the_strongest_are_listed():
    d = 30
    units = [f"column {u}." for u in range(d)]
    wide = Row("table", [0.0] * d, [float(d - u) for u in range(d)], [u < 2 for u in range(d)], "a", units, [*range(d)])
    rest = Drawing(wide).html.split("<details")[1]
    assert "28 not kept, the 12 strongest of them" in rest
    assert "column 13." in rest
    assert "column 14." not in rest
    assert str(Drawing(wide)).endswith("column 13. and 16 more")


def test_image_pixels_carry_value_and_tint():
    assert pixels(Drawing(IMAGE).html) == [
        [(29, 73, 118), (128, 128, 128)],
        [(248, 196, 146), (128, 128, 128)],
    ]
    assert "1 pixels missing" in Drawing(IMAGE).html


def test_colour_image_keeps_its_colours():
    row = Row("image", [1.0, 0.0, 0.0], [0.0], [False], "x", ["p"], [0], [3, 1, 1])
    assert pixels(Drawing(row).html) == [[(255, 0, 0)]]


def test_outline_goes_around_a_unit_of_any_shape():
    corner = Row("image", [0.0] * 4, [1.0, 0.0], [True, False], "x", ["corner", "rest"], [0, 0, 0, 1], [1, 2, 2])
    found = re.findall(r'<path d="([^"]+)"', Drawing(corner).html)
    assert len(found) == 1
    assert sorted(found[0].split("M")[1:]) == sorted(
        ["0 0h1", "0 0v1", "1 0h1", "2 0v1", "1 1h1", "0 1v1", "0 2h1", "1 1v1"]
    )


def test_everything_is_escaped():
    evil = '<script>alert("x")</script>'
    for row in EVERY:
        row = replace(row, label=evil, units=[evil] * len(row.units))
        if row.kind in ("words", "sentences"):
            row = replace(row, values=[evil] * 3)
        html = Drawing(row).html
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in str(Drawing(replace(WORDS, values=["\x1b[31m", "b\nc", "d"])))


def test_missing_scores_count_as_none():
    html = Drawing(replace(WORDS, scores=[NAN, NAN, 1.0])).html
    assert 'title="score missing"' in html


def test_empty_row():
    assert str(Drawing(Row("words", [], [], [], "x"))) == "explained class: x\n"


def test_notebooks_get_the_fragment():
    assert Drawing(WORDS)._repr_html_() == Drawing(WORDS).html


def test_same_row_same_bytes():
    for row in EVERY:
        assert Drawing(row).html == Drawing(row).html


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (replace(WORDS, scores=[1.0]), "3 units needs as many scores"),
        (replace(WORDS, kind="word"), "did you mean 'words'"),
        (replace(TABLE, owner=[0]), "4 columns or pixels"),
        (replace(WORDS, marked=[True]), "as many marks of people"),
    ],
)
def test_rows_that_do_not_fit_are_refused(row: Row, words: str):
    with pytest.raises(InputError, match=words):
        Drawing(row)


def test_import_is_light():
    code = "import sys, unmask.drawing; print(sorted({'torch', 'matplotlib', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
