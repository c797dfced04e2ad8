"""The tables of the lecture: every claim in words, every row held to something that is measured."""

from __future__ import annotations

import pytest

from unmask.reproduce.claims import EXPERIMENTS
from unmask.reproduce.critique import TABLES
from unmask.reproduce.request import Request
from unmask.reproduce.tables import Table


def test_every_experiment_has_a_table() -> None:
    assert {table.name for table in TABLES} == set(EXPERIMENTS)


@pytest.mark.parametrize("table", TABLES, ids=lambda t: f"{t.name}-{t.dataset}")
def test_rows_are_held_to_what_is_measured(table: Table) -> None:
    assert table.kind == "critique"
    assert table.claim.endswith(".")
    assert table.rows == tuple(table.bars)
    assert {metric for bars in table.bars.values() for metric in bars} <= set(table.metrics)
    assert all(table.bars.values()) or table.name == "deceptive-attention"  # whose honest model is there to compare


def test_quick_and_usual_runs_have_the_same_claims() -> None:
    quick, usual = ({t.name for t in Request("critique", scale=scale).tables()} for scale in ("quick", "default"))
    assert quick == usual
    assert "mnist-3-8" not in {t.dataset for t in Request("critique", scale="quick").tables()}


def test_rows_of_the_same_name_in_two_tables_are_two_trials() -> None:
    trials = Request("critique").trials()
    assert len({t.key for t in trials}) == len(trials)


def test_the_one_figure_that_is_known() -> None:
    (table,) = (t for t in TABLES if t.published)
    assert table.published == {"lam=0.1": {"accuracy": 97.2, "mass": 0.007}}
    assert "BERT" in table.note
