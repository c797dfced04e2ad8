"""SEAT's tables: figures stand in the right cells."""

from __future__ import annotations

import pytest

from unmask.reproduce import tables_of
from unmask.reproduce.attentive import STEADYING
from unmask.reproduce.seat import TABLES
from unmask.reproduce.tables import SCALES, made

ONE = {table.dataset: table for table in TABLES if table.name == "1"}


@pytest.mark.parametrize(
    ("dataset", "row", "jsd", "tvd", "f1"),
    [
        ("emotion:anger-joy", "vanilla/rnn", 0.002, 20.145, 66.3),
        ("sst2", "word-iat/rnn", 0.023, 1.277, 81.5),
        ("hate", "seat/rnn", 1.8e-9, 0.908, 57.9),
        ("rotten-tomatoes", "attention-iat/bilstm", 0.076, 1.751, 77.7),
        ("sst2", "seat/bilstm", 1.8e-8, 0.777, 80.2),
        ("sst2", "vanilla/transformer", 0.005, 2.605, 91.2),
        ("rotten-tomatoes", "word-at/transformer", 0.510, 0.036, 82.6),
    ],
)
def test_figures_stand_where_they_belong(dataset: str, row: str, jsd: float, tvd: float, f1: float) -> None:
    name = "tvd-bce" if row in ("vanilla/rnn", "vanilla/bilstm") else "tvd-batch-sum"
    assert ONE[dataset].published[row] == {"jsd": jsd, name: tvd, "f1": f1}


def test_rows_of_bert_are_run_where_the_paper_has_them() -> None:
    with_bert = {(t.name, t.dataset) for t in TABLES if any(row.endswith("/transformer") for row in t.rows)}
    assert with_bert == {("1", d) for d in ONE if d != "imdb"} | {("3", d) for d in ("sst2", "rotten-tomatoes")} | {
        ("4", "sst2")
    }
    three = next(t for t in TABLES if (t.name, t.dataset) == ("3", "sst2"))
    assert three.published["seat/transformer"] == {"jsd-words": 1.55e-6, "tvd-words-batch-sum": 0.028, "f1": 90.7}
    assert {f"{row}/transformer" for row in ("vanilla", "uniform", "d1-only", "word-at", "seat")} <= set(three.rows)
    assert (
        made("seat/transformer", three, "default", 0)[1]["recipe"].rate
        < made("seat/rnn", three, "default", 0)[1]["recipe"].rate
    )


def test_every_published_row_is_run() -> None:
    for table in tables_of("seat"):
        assert set(table.published) <= set(table.rows)


def test_the_terms_of_table_4() -> None:
    four = next(table for table in TABLES if table.name == "4")
    assert four.published["d1-topk/bilstm"] == {"sufficiency": 0.004, "tvd-batch-sum": 1.745, "f1": 77.9}
    assert [row for row in four.rows if row.endswith("/rnn")] == [
        "vanilla/rnn",
        "seat-without-topk/rnn",
        "d1-topk/rnn",
        "seat/rnn",
    ]


@pytest.mark.parametrize("table", TABLES, ids=lambda t: f"{t.name} {t.dataset}")
@pytest.mark.parametrize("row", ["d1-only", "word-at", "seat", "uniform"])
def test_controls_and_rivals_are_in_every_comparison(table: object, row: str) -> None:
    if table.name in ("1", "2", "3"):  # type: ignore[attr-defined]
        assert f"{row}/rnn" in table.rows  # type: ignore[attr-defined]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("row", sorted(STEADYING))
def test_every_row_is_a_method_with_settings(row: str, scale: str) -> None:
    from unmask.methods import METHODS, make

    method, settings = made(f"{row}/bilstm", ONE["sst2"], scale, 7)  # type: ignore[arg-type]
    if method in ("attention", "uniform"):
        assert settings == {}
        return
    assert method in METHODS
    trainer = make(method, 7, "pad", settings)
    assert trainer.recipe.seed == 7
    if row == "seat":
        assert (trainer.radius, trainer.dropout, trainer.lam_words) == (0.065, 0.2, 0.0)
    if row.startswith("seat-re"):
        assert (trainer.radius, trainer.lam_overlap, trainer.form) == (0.01, 1000.0, "released")
    if row == "seat-development":
        assert (trainer.radius, trainer.lam_overlap, trainer.form) == (0.065, 100.0, "development")
