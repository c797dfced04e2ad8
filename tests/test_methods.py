"""All methods by name."""

from __future__ import annotations

import pytest

from unmask import attention, explainers, rationales
from unmask.errors import InputError
from unmask.methods import METHODS, MODELS, ROOMS, make


def test_no_name_stands_for_two_methods() -> None:
    assert len({**METHODS, **MODELS}) == sum(len(table) for table in ROOMS.values())
    assert METHODS == {**explainers.METHODS, **attention.METHODS}
    assert MODELS == rationales.MODELS


@pytest.mark.parametrize("name", sorted({**METHODS, **MODELS}))
def test_a_name_makes_its_class_with_its_settings(name: str) -> None:
    made = make(name, 3, "zero")
    entry = {**METHODS, **MODELS}[name]
    assert type(made).__name__ == entry.path.partition(":")[2]
    assert (made.k, made.removal) == (3, "zero")
    assert {key: getattr(made, key) for key in entry.settings} == dict(entry.settings)


def test_further_settings_go_to_the_class() -> None:
    assert make("seat", 3, None, {"radius": 0.1}).radius == 0.1


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown method 'word-att'; did you mean 'word-at'"):
        make("word-att", 3)
