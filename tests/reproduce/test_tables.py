"""The published figures and the forms of rows: complete, and made of what exists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unmask.methods import METHODS, make
from unmask.reproduce import PAPERS, tables_of
from unmask.reproduce.attentive import ATTENDING, STEADYING
from unmask.reproduce.choices import RATIONALES
from unmask.reproduce.measuring import Trial
from unmask.reproduce.tables import CONTROLS, FORMS, QUICK, SCALES, Bar, Table, made, named

WORDS = Table("t", "imdb", "words", 10, "pad", ("fs-m",), ("meed",))
PIXELS = Table("t", "mnist-3-8", "image", 25, "zero", ("fs-m",), ("meed",))
SMALL = Table("t", "digits", "image", 8, "zero", ("fs-m",), ("meed",), small=True)
EVERY = [(paper, table) for paper in PAPERS for table in tables_of(paper)]


@pytest.mark.parametrize(("paper", "table"), EVERY, ids=lambda v: v if isinstance(v, str) else f"{v.name}-{v.dataset}")
def test_a_table_is_made_of_known_rows(paper: str, table: Table) -> None:
    if table.kind == "attention":
        assert {row.partition("/")[0] for row in table.rows} <= set(ATTENDING)
        assert {row.partition("/")[2] for row in table.rows} <= {"pooling", "rcnn"}
    elif table.kind == "steady":
        assert {row.partition("/")[0] for row in table.rows} <= set(STEADYING)
        assert {row.partition("/")[2] for row in table.rows} - {"transformer"} == {"rnn", "bilstm"}
    elif table.kind == "critique":
        assert table.rows == tuple(table.bars)
    else:
        assert set(table.rows) <= ({*RATIONALES, *CONTROLS} if table.kind == "rationale" else set(FORMS))
    assert len(set(table.rows)) == len(table.rows)
    assert set(table.published) <= set(table.rows)
    for figures in table.published.values():
        assert set(figures) <= set(table.metrics)
    hash(table)


EXPLAINED = [e for e in EVERY if e[1].kind in ("words", "image")]


@pytest.mark.parametrize(("paper", "table"), EXPLAINED, ids=str)
def test_tables_of_papers_have_their_controls(paper: str, table: Table) -> None:
    signed_and_absolute = {"gradient", "gradient-x-input", "gradient-x-input-abs"}
    assert {*CONTROLS, *signed_and_absolute} <= set(table.rows)


@pytest.mark.parametrize("row", sorted(FORMS))
@pytest.mark.parametrize("table", [WORDS, PIXELS, SMALL], ids=["words", "pixels", "small"])
def test_every_form_is_a_method_with_settings_it_knows(row: str, table: Table) -> None:
    for scale in SCALES:
        method, settings = made(row, table, scale, 3)
        if method == "auto":
            continue
        assert method in METHODS
        explainer = make(method, 2, None, settings)
        assert getattr(explainer, "recipe", None) is None or explainer.recipe.seed in (0, 3)


def test_learned_rows_take_the_seed_and_the_published_optimizer() -> None:
    for table, optimizer in ((WORDS, "rmsprop"), (PIXELS, "adadelta"), (SMALL, "adam")):
        recipe = made("meed", table, "default", 7)[1]["recipe"]
        assert (recipe.seed, recipe.optimizer) == (7, optimizer)
    quick, paper = (made("meed", WORDS, scale, 0)[1]["recipe"].epochs for scale in ("quick", "paper"))
    assert quick < paper


def test_a_quick_run_tells_the_story() -> None:
    """The disease, the cures, and all the controls."""
    family = ("l2x+feedback", "l2x+feedback+pretraining", "meed", "mimic")
    assert {*CONTROLS, "gradient-x-input", "gradient-x-input-abs", *family} <= set(QUICK)


def test_two_names_for_one_thing_are_measured_once() -> None:
    """MEED's released code has no prior on texts, so there the row without one is MEED itself."""
    alike = ((WORDS, {"meed-without-prior": "meed"}), (PIXELS, {}), (SMALL, {"meed+weight=1": "meed"}))
    for table, want in alike:
        same = {row: named(row, table) for row in FORMS if named(row, table) != row}
        keys = {row: Trial(table, row, 0, "default").key for row in FORMS}
        assert same == want
        assert all(keys[row] == keys[first] for row, first in same.items())
        assert len(set(keys.values())) == len(FORMS) - len(same)
    steady = replace(WORDS, kind="steady")
    assert named("vanilla/rnn", steady) == "vanilla/rnn"


@pytest.mark.parametrize(
    ("bar", "ends", "said"),
    [
        (Bar("above", 50), (51, 60), "holds"),
        (Bar("above", 50), (40, 49), "does not"),
        (Bar("above", 50), (40, 60), "open"),
        (Bar("below", 90), (80, 89), "holds"),
        (Bar("below", 90), (91, 100), "does not"),
        (Bar("below", 90), (90, 90), "open"),
    ],
)
def test_a_claim_is_read_from_the_whole_interval(bar: Bar, ends: tuple[float, float], said: str) -> None:
    assert bar.reading(*ends) == said
