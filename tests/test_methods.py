"""All methods by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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


def test_a_recipe_is_laid_over_the_methods_own() -> None:
    made, usual = make("l2x", 3, None, {"recipe": {"epochs": 2}}), make("l2x", 3)
    assert made.recipe == replace(usual.recipe, epochs=2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tua": 0.1}, "unknown setting of l2x 'tua'; did you mean 'tau'"),
        ({"k": 2}, "unknown setting of l2x 'k'"),
        ({"recipe": {"seed": 2}}, "unknown setting in the recipe of l2x 'seed'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make("l2x", 3, None, settings)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown method 'word-att'; did you mean 'word-at'"):
        make("word-att", 3)


def test_nets_are_laid_over_the_methods_own() -> None:
    made, usual = make("a2r", 1, None, {"nets": {"hidden": 8, "smooth": 3}}), make("a2r", 1)
    assert made.nets == replace(usual.nets, hidden=8, smooth=3)
    with pytest.raises(InputError, match="unknown setting in the nets of a2r 'hiden'"):
        make("a2r", 1, None, {"nets": {"hiden": 8}})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nets": "transformer"}, "nets of a2r holds settings, such as nets.encoder; got 'transformer'"),
        ({"nets": {"hidden": "abc"}}, "hidden is 64 where nobody says otherwise, so 'abc' is no value for it"),
        ({"nets": {"places": "yes"}}, "places is False where nobody says otherwise"),
        ({"recipe": 5}, "recipe of a2r holds settings"),
        ({"lam": "much"}, "a setting of a2r is of the wrong kind"),
    ],
)
def test_values_of_the_wrong_kind_are_one_sentence(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make("a2r", 1, None, settings)
