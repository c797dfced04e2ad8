"""Units of images and tables."""

from __future__ import annotations

import pytest

from unmask.data.layouts import image_layout, table_layout
from unmask.errors import InputError


def test_patches_in_reading_order() -> None:
    layout = image_layout((3, 4, 6), patch=2)
    assert layout.d == 6
    assert layout.owner[:6] == (0, 0, 1, 1, 2, 2)
    assert layout.owner[-6:] == (3, 3, 4, 4, 5, 5)
    assert layout.units[4] == "patch 1,1"


def test_patch_must_divide_the_image() -> None:
    with pytest.raises(InputError, match="patch must divide the image \\(28 by 28 pixels\\), got 5"):
        image_layout((1, 28, 28), 5)


def test_groups_by_name_and_number() -> None:
    layout = table_layout(["a", "b", "c"], {"first": ["c", 0], "second": [1]})
    assert layout.owner == (0, 1, 0)
    assert layout.units == ("first", "second")


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"one": [0, 1]}, "groups must cover every column, but 'c' \\(1 in all\\) is in none"),
        ({"one": [0, 1, 2], "two": [2]}, "'c' is in two"),
        ({"one": [0, 1, 7]}, "names column 7, expected a name or a number 0..2"),
        ({"one": ["a", "b", "x"]}, "names column 'x'"),
    ],
)
def test_groups_that_do_not_fit(groups: dict[str, list[int | str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        table_layout(["a", "b", "c"], groups)


def test_columns_go_by_the_word_that_is_given() -> None:
    with pytest.raises(InputError, match=r"names feature 9, expected a name or a number 0..1"):
        table_layout(["a", "b"], {"one": [0, 9]}, "feature")
