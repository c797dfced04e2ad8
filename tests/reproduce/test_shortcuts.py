"""The figures of the paper, at places where a slip would show."""

from __future__ import annotations

from unmask.reproduce.shortcuts import TABLES


def test_figures_of_the_paper() -> None:
    by_set = {table.dataset: table for table in TABLES}
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
