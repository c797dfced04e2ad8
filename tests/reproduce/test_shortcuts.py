"""The figures of the paper, at places where a slip would show."""

from __future__ import annotations

from unmask.reproduce.shortcuts import TABLES


def test_figures_of_the_paper() -> None:
    by_set = {table.dataset: table for table in TABLES if table.name == "3"}
    assert {name: table.k for name, table in by_set.items()} == {
        "imdb": 10,
        "yelp-sentences": 5,
        "mnist-3-8": 25,
        "fashion-pullover-shirt": 64,
    }
    assert by_set["imdb"].published["l2x+feedback"] == {"fs-m": 48.8}
    assert by_set["mnist-3-8"].published["l2x+feedback+pretraining"] == {"fs-m": 66.3}
    assert by_set["fashion-pullover-shirt"].published["l2x+feedback+weighting"] == {"fs-m": 95.4}
    assert by_set["yelp-sentences"].note


def test_figures_about_attention() -> None:
    one, two = TABLES[:2]
    assert (one.name, two.name, one.kind, two.kind) == ("1", "2", "attention", "attention")
    assert one.published["none/rcnn"] == {"accuracy": 96.1}
    assert one.published["attention/pooling"] == {"accuracy": 99.5, "constants": 66.4}
    assert two.published["attention+pretraining/rcnn"] == {"accuracy": 78.7, "constants": 7.1}
    assert two.published["attention+weighting/pooling"] == {"accuracy": 97.8, "constants": 5.8}
    assert not any("as-written" in row for row in two.published)  # ours
    assert "training rows" in one.note
