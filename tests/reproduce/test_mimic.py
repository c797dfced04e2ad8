"""Our own tables: the front with its rivals, the ablation with one thing changed at a time."""

from __future__ import annotations

from unmask.reproduce.mimic import TABLES
from unmask.reproduce.tables import FORMS


def test_fronts_have_the_reading_and_the_rivals() -> None:
    for table in TABLES:
        assert {"reading", "encoding-share", "approximator"} <= set(table.metrics)
        if table.name.startswith("front"):
            assert {"random", "l2x+feedback", "meed", "mimic", "integrated-gradients"} <= set(table.rows)


def test_the_ablation_changes_one_thing_at_a_time() -> None:
    ablation = next(table for table in TABLES if table.name == "ablation")
    for row in ablation.rows:
        if row.startswith("mimic") and row != "mimic+mu-alone":  # which is another method: the judge is the reader
            assert len(FORMS[row].settings) == (row != "mimic")
