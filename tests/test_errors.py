"""The kinds of error, and the sentence for an unknown name."""

from __future__ import annotations

import pytest

from unmask.errors import InputError, NotFittedError, TrainingError, UnmaskError, unknown


@pytest.mark.parametrize(
    ("kind", "also"), [(InputError, ValueError), (NotFittedError, RuntimeError), (TrainingError, RuntimeError)]
)
def test_each_kind_is_ours_and_a_usual_one(kind: type[Exception], also: type[Exception]) -> None:
    assert issubclass(kind, UnmaskError)
    assert issubclass(kind, also)
    with pytest.raises(UnmaskError, match="said"):
        raise kind("said")


def test_a_near_name_is_suggested() -> None:
    error = unknown("method", "l2", {"meed": 1, "l2x": 2, "vibi": 3})
    assert isinstance(error, InputError)
    assert str(error) == "unknown method 'l2'; did you mean 'l2x'?"


def test_without_a_near_name_all_are_listed_in_order() -> None:
    assert str(unknown("check", "zzzz", ["sen", "fs-m", "fu-m"])) == "unknown check 'zzzz'; there are: fs-m, fu-m, sen"
