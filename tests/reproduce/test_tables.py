"""The published figures and the forms of rows: complete, and made of what exists."""

from __future__ import annotations

import pytest

from unmask.explainers import METHODS, make
from unmask.reproduce import PAPERS, tables_of
from unmask.reproduce.tables import CONTROLS, FORMS, QUICK, SCALES, Table, made

EVERY = [(paper, table) for paper in PAPERS for table in tables_of(paper)]


@pytest.mark.parametrize(("paper", "table"), EVERY, ids=lambda v: v if isinstance(v, str) else f"{v.name}-{v.dataset}")
def test_a_table_is_made_of_known_rows(paper: str, table: Table) -> None:
    assert set(table.rows) <= set(FORMS)
    assert len(set(table.rows)) == len(table.rows)
    assert set(table.published) <= set(table.rows)
    for figures in table.published.values():
        assert set(figures) <= set(table.metrics)
    hash(table)


@pytest.mark.parametrize(("paper", "table"), [e for e in EVERY if e[0] != "mimic"], ids=str)
def test_tables_of_papers_have_their_controls(paper: str, table: Table) -> None:
    signed_and_absolute = {"gradient", "gradient-x-input", "gradient-x-input-abs"}
    assert {*CONTROLS, *signed_and_absolute} <= set(table.rows)


@pytest.mark.parametrize("row", sorted(FORMS))
@pytest.mark.parametrize("kind", ["words", "image"])
def test_every_form_is_a_method_with_settings_it_knows(row: str, kind: str) -> None:
    for scale in SCALES:
        method, settings = made(row, kind, scale, 3)  # type: ignore[arg-type]
        if method == "auto":
            continue
        assert method in METHODS
        explainer = make(method, 2, None, settings)
        assert getattr(explainer, "recipe", None) is None or explainer.recipe.seed in (0, 3)


def test_learned_rows_take_the_seed_and_the_published_optimizer() -> None:
    for kind, optimizer in (("words", "rmsprop"), ("image", "adadelta")):
        recipe = made("meed", kind, "default", 7)[1]["recipe"]  # type: ignore[arg-type]
        assert (recipe.seed, recipe.optimizer) == (7, optimizer)
    assert made("meed", "words", "quick", 0)[1]["recipe"].epochs < made("meed", "words", "paper", 0)[1]["recipe"].epochs


def test_a_quick_run_tells_the_story() -> None:
    """The disease, the cures, and all the controls."""
    assert {*CONTROLS, "gradient-x-input", "gradient-x-input-abs", "l2x+feedback", "meed", "mimic"} <= set(QUICK)
