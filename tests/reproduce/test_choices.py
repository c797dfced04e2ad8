"""Rows about rationales."""

from __future__ import annotations

import pytest

from unmask.methods import MODELS, make
from unmask.reproduce.choices import RATES, RATIONALES, rationale, split_name


def test_names_of_sets_are_taken_apart() -> None:
    assert split_name("reviews:preset=hard,skew=10") == ("reviews", 10)
    assert split_name("eraser-movies") == ("eraser-movies", 0)


@pytest.mark.parametrize("dataset", ["reviews:preset=hard,bias=0.8", "reviews:preset=hard,skew=15", "eraser-movies"])
@pytest.mark.parametrize("row", sorted(RATIONALES))
def test_every_row_makes_its_model(row: str, dataset: str) -> None:
    method, settings = rationale(row, dataset, "default", 7)
    own = make(method, 1, None, settings)
    assert method in MODELS
    assert own.recipe.seed == 7
    assert own.skew == (15 if "skew" in dataset else 0)
    pretrained = row.endswith("/transformer")
    assert own.nets.pretrained == pretrained
    assert own.nets.vectors == ("glove" if dataset == "eraser-movies" and not pretrained else "random")
    assert own.nets.smooth == (9 if dataset == "eraser-movies" else 1)


def test_baselines_have_the_rates_of_the_others() -> None:
    for row in ("rnp", "a2r"):
        own, alike, hasty = (
            rationale(f"{row}{form}", "reviews:bias=0.8", "default", 0)[1]["recipe"].rate
            for form in ("", "+rates-alike", "+hasty-generator")
        )
        assert own == RATES
        assert own["predictor"] == 10 * own["generator"]  # as published
        assert alike["predictor"] == alike["generator"]
        assert hasty["predictor"] < hasty["generator"]
