"""Only what was kept is shown."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from study import samples
from unmask.study.items import NOTHING, Shown, brightness, shown
from unmask.types import Layout


def test_words_with_gaps() -> None:
    data = samples.texts()
    e = samples.explained(data, [[1, 2], [0, 3], [], [0]], [1, 0, 0, 0])
    seen = [item.text for item in shown(data.test.x, e.kept, data.layout)]
    assert seen == ["… good film …", "not … film", NOTHING, "so …"]


def test_sentences_in_lines() -> None:
    x = [[["good", "."], ["it", "rained", "."], ["great", "!"]]]
    kept = torch.tensor([[True, False, True]])
    assert shown(x, kept, Layout("sentences"))[0].text == "good .\n…\ngreat !"


def test_variables_of_a_frame_as_people_know_them() -> None:
    data = samples.table()
    e = samples.explained(data, [[0, 1], [2, 3], [2], []], [0, 0, 0, 0])
    seen = shown(data.test.x, e.kept, data.layout, data.frames)
    assert seen[0].units == (("age", (("age", "24"),)), ("town", (("town", "York"),)))
    assert seen[0].line == "age: 24; town: York"
    assert seen[1].line == "score: missing; new: no"
    assert seen[2].line == "score: 0.5"
    assert seen[3] == Shown(text=NOTHING)


def test_groups_of_columns_and_series() -> None:
    x = np.arange(8.0 * 2 * 3).reshape(8, 2, 3)
    data = samples.made(x, "table", groups={"pair": [0, 2], "one": [1]})
    seen = shown(data.test.x, torch.tensor([[True, False], [False, True]] * 2), data.layout, data.frames)
    assert seen[0].units == (("pair", (("t1/x1", "24"), ("t1/x3", "26"), ("t2/x1", "27"), ("t2/x3", "29"))),)
    assert seen[0].line.startswith("pair, t1/x1: 24; pair, t1/x3: 26")
    assert seen[1].line == "one, t1/x2: 31; one, t2/x2: 34"
    plain = samples.made(x[:, 0], "table", groups={"pair": [0, 2], "one": [1]})
    assert shown(plain.test.x[:1], torch.ones(1, 2).bool(), plain.layout)[0].line == (
        "pair, pair 1: 24; pair, pair 2: 26; one: 25"
    )


def opened(item: Shown) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(item.picture)))


def test_hidden_pixels_are_transparent_and_hold_nothing() -> None:
    data = samples.pictures()
    kept = torch.tensor([[False, True, False, True]])
    pixels = opened(shown(data.test.x[:1], kept, data.layout)[0])
    assert pixels.shape == (224, 224, 4)  # enlarged 112 times
    corners = pixels[::112, ::112].reshape(4, 4).tolist()
    assert corners == [[0, 0, 0, 0], [51, 51, 51, 255], [0, 0, 0, 0], [153, 153, 153, 255]]


def test_colours_and_missing_pixels() -> None:
    x = torch.tensor([[[[1.0, 0.0]], [[0.0, float("nan")]], [[0.5, 0.0]]]])  # (1, 3, 1, 2)
    layout = Layout("image", (3, 1, 2), (0, 1), ("a", "b"))
    pixels = opened(shown(x, torch.ones(1, 2).bool(), layout)[0])
    assert pixels[0, 0].tolist() == [255, 0, 128, 255]
    assert pixels[0, -1].tolist() == [0, 0, 0, 0]


def test_a_fourth_channel_is_opacity_and_no_colour() -> None:
    x = torch.tensor([[[[1.0]], [[0.0]], [[0.0]], [[1.0]]]])  # opaque red
    pixels = opened(shown(x, torch.ones(1, 1).bool(), Layout("image", (4, 1, 1), (0,), ("a",)))[0])
    assert pixels[0, 0].tolist() == [255, 0, 0, 255]


@pytest.mark.parametrize(
    ("values", "span"),
    [
        ([0.2, 0.8], (0, 1)),
        ([0, 200], (0, 255)),
        ([0, 4000], (0, 4000)),
        ([-1.5, 2], (-1.5, 2)),
        ([float("nan")], (0, 1)),
        ([-1, -1], (-1, 0)),
        ([0, 16], (0, 16)),
        ([0, 2.5], (0, 2.5)),
        ([0, 130], (0, 255)),
        ([0, 130.5], (0, 130.5)),
    ],
)
def test_one_brightness_for_all(values: list[float], span: tuple[float, float]) -> None:
    assert brightness(torch.tensor(values, dtype=torch.float32)) == span
