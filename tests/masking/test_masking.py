"""The table of removals: which hides what, and what is said of a wrong name."""

from __future__ import annotations

import pytest

from unmask.errors import InputError
from unmask.masking import REMOVALS, check_removal, default_removal

KINDS = {
    "table": ["zero", "mean", "marginal"],
    "image": ["zero", "mean", "blur", "noise"],
    "words": ["pad", "mask-token", "delete"],
    "sentences": ["pad", "mask-token", "delete"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_removals(kind: str) -> None:
    assert [name for name, way in REMOVALS.items() if kind in way.kinds] == KINDS[kind]
    assert [check_removal(name, kind) for name in KINDS[kind]] == KINDS[kind]


@pytest.mark.parametrize(
    ("kind", "token", "want"),
    [
        ("table", False, "mean"),
        ("image", True, "mean"),
        ("words", False, "pad"),
        ("words", True, "mask-token"),
        ("sentences", True, "delete"),
    ],
)
def test_the_default_of_each_kind(kind: str, token: bool, want: str) -> None:
    assert default_removal(kind, token) == want
    assert check_removal(want, kind) == want


def test_a_removal_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        check_removal("blur", "table")
    assert str(caught.value) == (
        "removal 'blur' cannot hide units of kind 'table'; for table there are: zero, mean, marginal"
    )


def test_an_unknown_removal_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown removal 'masktoken'; did you mean 'mask-token'\?"):
        check_removal("masktoken", "words")
    with pytest.raises(InputError, match="unknown removal 'xyz'; there are: blur, delete, marginal"):
        check_removal("xyz", "words")
