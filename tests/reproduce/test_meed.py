"""The figures of the paper, at places where a slip would show."""

from __future__ import annotations

from unmask.reproduce.meed import TABLES


def test_figures_of_the_paper() -> None:
    by_name = {table.name: table for table in TABLES}
    assert by_name["1"].published["meed"] == {"fs-m": 98.48, "fu-m": 59.05, "fs-a": 98.70, "fu-a": 81.83}
    assert by_name["2"].published["meed-without-ail"]["fs-m"] == 78.31
    assert by_name["3"].published["l2x"]["fs-m"] == 91.38
    assert by_name["4"].published["meed+swd"]["sen-legacy"] == 0.70
    assert [by_name[name].k for name in "1234"] == [10, 10, 25, 64]
    assert by_name["sanity"].published["meed"] == {"randomized-model": 9.39, "permuted-labels": 10.25}


def test_all_four_forms_of_meed_are_rows_of_table_4() -> None:
    forms = {"meed", "meed+swd", "meed+noisy-logit-max", "meed+swd+noisy-logit-max"}
    assert forms <= set(TABLES[-1].rows)


def test_the_figure_of_meed_stands_beside_the_relaxation_of_the_paper_and_that_of_its_code() -> None:
    by_name = {table.name: table for table in TABLES}
    for table, plain, released in (
        ("3", "meed", "meed+noisy-logit-max"),
        ("4", "meed+swd", "meed+swd+noisy-logit-max"),
    ):
        published = by_name[table].published
        assert published[plain] == published[released]
        assert {plain, released} <= set(by_name[table].rows)
