"""What a request comes to: tables, rows and trials."""

from __future__ import annotations

import pytest

from unmask.errors import InputError
from unmask.reproduce.measuring import COSTLY
from unmask.reproduce.request import QUICK_STEADY, Request
from unmask.reproduce.tables import QUICK
from unmask.sweep.engine import Workers


def test_a_quick_run_has_the_few_rows_that_tell_the_story() -> None:
    request = Request("shortcuts", table="3", scale="quick")
    assert {t.dataset for t in request.tables()} == {"imdb", "fashion-pullover-shirt"}
    assert all(set(request.rows_of(t)) <= set(QUICK) for t in request.tables())
    steady = Request("seat", scale="quick")
    assert {(t.name, t.dataset) for t in steady.tables()} == {("1", "sst2"), ("4", "sst2")}
    assert {trial.row for trial in steady.trials()} <= set(QUICK_STEADY)


def test_a_table_that_no_quick_run_has_is_run_when_it_is_named() -> None:
    assert [t.dataset for t in Request("seat", dataset="hate", table="3", scale="quick").tables()] == ["hate"]


def test_seeds_come_one_after_the_other() -> None:
    trials = Request("meed", table="3", rows=("meed", "l2x"), seeds=2).trials()
    assert [(t.seed, t.row) for t in trials] == [(0, "l2x"), (0, "meed"), (1, "l2x"), (1, "meed")]


def test_metrics_that_are_named_are_the_only_ones_measured() -> None:
    trials = Request("meed", table="4", rows=("l2x",), metrics=("fs-m", "fs-a")).trials()
    assert [t.metrics for t in trials] == [("fs-m", "fs-a")]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paper": "meed", "table": "9"}, "no table '9'"),
        ({"paper": "meed", "dataset": "cifar"}, "unknown data set 'cifar'"),
        ({"paper": "meed", "scale": "huge"}, "unknown scale 'huge'"),
        ({"paper": "meed", "backend": "dask"}, "unknown backend 'dask'"),
        ({"paper": "meed", "address": "10.0.0.1:6379"}, "address is for the backend ray"),
        ({"paper": "meed", "rows": ("medd",)}, "unknown row 'medd'"),
        ({"paper": "meed", "metrics": ("fs-n",)}, "unknown metric 'fs-n'"),
    ],
)
def test_what_there_is_not_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Request(**settings).trials()  # type: ignore[arg-type]


def test_a_quick_run_leaves_costly_metrics_to_those_who_ask_for_them() -> None:
    """Fresh networks for each row take longer than all the rest together."""
    quick, usual = (Request("meed", "4", scale=scale).tables()[0].metrics for scale in ("quick", "default"))
    assert not set(quick) & set(COSTLY)
    assert {"fs-m", "fu-m", "approximator"} <= set(quick)
    assert {"fs-a", "sen"} <= set(usual)
    assert Request("meed", "4", scale="quick", metrics=("fs-a",)).tables()[0].metrics == ("fs-a",)
    refits = Request("meed", "sanity", scale="quick").tables()[0].metrics
    assert set(refits) <= set(COSTLY)  # a table of nothing else keeps them
    assert refits


@pytest.mark.parametrize(
    ("paper", "asked", "found"),
    [
        ("seat", "emotion", {"emotion:anger-joy"}),
        ("seat", "emotion:anger-joy", {"emotion:anger-joy"}),
        ("a2r", "reviews:bias=0.8", {"reviews:preset=hard,bias=0.8"}),
        ("a2r", "reviews:skew=10,preset=hard", {"reviews:preset=hard,skew=10"}),
    ],
)
def test_a_data_set_is_known_without_all_its_options(paper: str, asked: str, found: set[str]) -> None:
    assert {t.dataset for t in Request(paper, dataset=asked).tables()} == found


def test_all_sets_of_a_name_are_taken_and_a_wrong_option_is_refused() -> None:
    every = {t.dataset for t in Request("a2r", dataset="reviews").tables()}
    assert {"reviews:preset=easy", "reviews:preset=hard,bias=0.8"} <= every
    with pytest.raises(InputError, match=r"unknown data set 'reviews:bias=0\.9'"):
        Request("a2r", dataset="reviews:bias=0.9").tables()


def test_two_rows_at_a_time_here_and_the_whole_cluster_on_ray() -> None:
    assert Request("meed").workers().jobs == 2
    assert Request("meed", backend="ray").workers() == Workers("ray", None)
    assert Request("meed", backend="ray", jobs=3, gpus=0.5).workers() == Workers("ray", 3, gpus=0.5)
