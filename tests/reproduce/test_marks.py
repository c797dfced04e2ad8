"""Marks last: what a class had first counts always, what came later where it says something new."""

from __future__ import annotations

import hashlib
from dataclasses import field, fields, is_dataclass, make_dataclass, replace
from typing import Any

import pytest

from unmask.explainers.l2x import L2X
from unmask.methods import make
from unmask.reproduce import PAPERS, marks, tables_of
from unmask.reproduce.choices import SHARE
from unmask.reproduce.marks import FIRST, LATER, known, later_fields, mark, settings
from unmask.reproduce.measuring import AS_IT_IS, SCHEMES
from unmask.reproduce.tables import CONTROLS, SCALES, made
from unmask.training import Recipe

OLD = (
    "Recipe(epochs=3, batch=128, rate=0.001, optimizer='adam', decay=0.0, patience=None, seed=0, fade=1.0, average=0.0)"
)


def hashed(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def grown(recipe: Recipe, default: Any, *, first: bool = False) -> Any:
    """The same recipe of a day when there is one more field, `warm`; `first`: it stands before all others."""
    old = [(f.name, f.type, field(default=getattr(recipe, f.name))) for f in fields(recipe)]
    new = [("warm", "int", field(default=default))]
    return make_dataclass("Recipe", [*new, *old] if first else [*old, *new], frozen=True)()


def test_a_mark_is_that_of_what_is_written() -> None:
    assert mark("l2x", {"k": 3}, ((1, 2), None, (4,), ())) == hashed("('l2x', {'k': 3}, ((1, 2), None, (4,), ()))")
    assert mark(Recipe(epochs=3)) == hashed(f"({OLD},)")
    assert mark(Recipe(epochs=3)) != mark(Recipe(epochs=4))


def test_a_field_that_came_later_counts_where_it_is_not_as_before() -> None:
    assert "precision" not in known(Recipe())
    assert known(replace(Recipe(), precision="mixed"))["precision"] == "mixed"
    assert mark(replace(Recipe(), precision="mixed")) != mark(Recipe())


@pytest.mark.parametrize("first", [False, True])
def test_a_new_field_with_a_default_keeps_every_mark(first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(epochs=3)
    today = grown(recipe, 0, first=first)
    assert mark(today) == mark(recipe)
    assert settings(replace(L2X(4), recipe=today)) == settings(L2X(4, recipe=recipe))
    assert mark(replace(today, warm=5)) != mark(recipe)
    monkeypatch.setitem(marks.LATER, "Recipe", {**LATER["Recipe"], "warm": 0})
    assert mark(today) == mark(recipe)
    assert mark(grown(recipe, 5, first=first)) != mark(recipe)  # another default, and it is listed


def test_another_default_of_a_first_field_is_another_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings(L2X(4)) != settings(L2X(4, tau=L2X(4).tau + 1))
    assert list(settings(L2X(4))) == FIRST["L2X"].split()
    monkeypatch.delitem(marks.FIRST, "L2X")
    assert list(settings(L2X(4))) == [f.name for f in fields(L2X) if f.init]  # not listed: all fields


def parts(thing: Any) -> list[Any]:
    """A method and all settings inside it that are classes of their own."""
    inside = [getattr(thing, f.name) for f in fields(thing) if f.init]
    return [thing, *(part for value in inside if is_dataclass(value) for part in parts(value))]


def methods() -> dict[str, Any]:
    """Whatever a row of any table is made of, by class."""
    found: dict[str, Any] = {}
    for table, row, scale in ((t, r, s) for paper in PAPERS for t in tables_of(paper) for r in t.rows for s in SCALES):
        method, own = made(row, table, scale, 0)
        if method in AS_IT_IS or table.kind == "critique" or (table.kind == "rationale" and method in CONTROLS):
            continue
        steps = SCHEMES[method](**own) if table.kind == "attention" else None
        thing = steps or make(method, table.k or SHARE, table.removal, own)
        found |= {type(part).__name__: part for part in parts(thing)}
    return found


def test_every_class_of_a_table_is_listed_and_so_is_every_later_field() -> None:
    found = methods()
    assert {"Recipe", "Nets", "L2X", "RNP", "SEAT", "Weighting"} <= set(found)
    for name, thing in found.items():
        assert name in FIRST, f"results of {name} are to last: list its fields in marks.FIRST"
        new = {later: usual for later, usual in later_fields(thing).items() if later not in LATER.get(name, {})}
        assert not new, f"{name} has new fields: list them in marks.LATER as results so far were made, {new}"
