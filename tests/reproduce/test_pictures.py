"""Pictures: every row with both numbers is a point; same input, same bytes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from unmask.reproduce import pictures
from unmask.reproduce.pictures import curves, front, surrogate, violins
from unmask.seeds import generator

pytestmark = pytest.mark.slow


def line(row: str, metric: str, here: float | None) -> dict[str, Any]:
    ends = (None, None) if here is None else (here - 1, here + 2)
    facts = {"table": "front", "dataset": "digits", "row": row, "metric": metric}
    return {**facts, "here": here, "low": ends[0], "high": ends[1]}


RESULT: dict[str, Any] = {
    "rows": [line(row, metric, 90.0) for row in ("mimic", "meed") for metric in ("fs-m", "reading")]
    + [line("l2x", "fs-m", 50.0), line("infd", "reading", None)],
    "controls": [line("random", "fs-m", 20.0), line("random", "reading", 50.0)],
}


def test_rows_with_both_numbers_are_points() -> None:
    picture = front(RESULT)
    for row in ("mimic", "meed", "random", "digits (front)"):
        assert f">{row}<" in picture
    for row in ("l2x", "infd"):
        assert f">{row}<" not in picture
    assert front(RESULT) == picture


def test_curves_are_named() -> None:
    picture = curves({"meed": [80.0, 95.0], "meed-without-prior": [60.0, 94.0]}, "warm start")
    assert all(f">{text}<" in picture for text in ("meed", "meed-without-prior", "warm start", "epoch"))


def test_the_surrogate_is_drawn_against_the_overlap() -> None:
    """A pair for each point, same input, same bytes; the axes are named."""
    valid = torch.ones(6, 9, dtype=torch.bool)
    first, second = (torch.rand(6, 9, generator=generator(i)).softmax(1) for i in (0, 1))
    picture = surrogate(first, second, 3, valid)
    for text in ("6 pairs of attention vectors", "surrogate top-k loss", "1 - overlap of the top 3"):
        assert f">{text}<" in picture
    assert surrogate(first, second, 3, valid) == picture
    points = picture.split('id="PathCollection_1"')[1]
    assert points.count("<use ") >= 6
    assert surrogate(first, first, 3, valid) != picture


def test_a_violin_for_each_bin_with_rows_enough() -> None:
    points = [[0.1 + 0.01 * i, 0.02 * i] for i in range(10)] + [[0.9, 0.5]]
    picture = violins({"vanilla/rnn": points, "seat/rnn": points}, "across seeds")
    for text in ("vanilla/rnn", "seat/rnn", "across seeds", "0-0.25", "0.75-1", "JSD to attention of other seeds"):
        assert f">{text}<" in picture
    assert picture.count('id="FillBetweenPolyCollection') == 2  # one bin with ten rows in each panel, the last has one
    assert violins({"vanilla/rnn": points, "seat/rnn": points}, "across seeds") == picture


def test_a_game_shows_payoffs_moves_and_traps() -> None:
    picture = pictures.game(((-1.0, -10.0), (-20.0, -2.0)), [(0, 0), (1, 1)])
    assert all(f">{text}<" in picture for text in ("-1", "-10", "-20", "-2", "select X1", "fit X2"))
    assert pictures._moves(((-1.0, -10.0), (-20.0, -2.0))) == [
        ((0, 1), (1, 1)),
        ((0, 1), (0, 0)),
        ((1, 0), (0, 0)),
        ((1, 0), (1, 1)),
    ]


def test_a_landscape_names_its_lines() -> None:
    picture = pictures.landscape([0.0, 0.5, 1.0], {"hard": [1.0, 2.0, 1.0], "soft": [1.0, 0.0, 1.0]})
    assert ">hard<" in picture
    assert ">soft<" in picture


def test_settings_of_lambda_are_joined_and_what_is_no_number_stands_apart() -> None:
    def pair(f1: float, x1: float) -> dict[str, dict[str, object]]:
        return {"f1": {"here": f1, "by_seed": [f1 - 1, f1 + 1]}, "x1": {"here": x1, "by_seed": [x1, x1]}}

    points = {"0": pair(40.0, 60.0), "0.5": pair(90.0, 5.0), "1": pair(91.0, 4.0), "0 to 1": pair(88.0, 9.0)}
    picture = pictures.sensitivity(points, "sweep")
    for text in ("0", "0.5", "1", "0 to 1", "lambda", "F1", "first sentence chosen", "sweep"):
        assert f">{text}<" in picture
    assert picture.count('id="PathCollection') == 8  # a cloud of seeds for each setting, F1 and X1
    assert pictures.sensitivity(points, "sweep") == picture


def test_attention_that_never_differs_is_drawn_too() -> None:
    assert "largest weight of the row" in violins({"uniform": [[0.1, 0.0], [0.1, 0.0], [0.1, 0.0]]}, "equal weights")
