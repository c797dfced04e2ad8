"""Rows about rationales: which model, with which settings, on which rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from unmask.data import named
from unmask.nets.bodies import Nets
from unmask.training import Recipe

__all__ = [
    "BEER_ROWS",
    "LAST",
    "MOVIE_ROWS",
    "RATIONALES",
    "REVIEW_ROWS",
    "SHARE",
    "SLOW_ROWS",
    "WHOLE",
    "rationale",
    "split_name",
]

REVIEW_ROWS = {"quick": 2000, "default": 4000, "paper": 4000}  # generated reviews to learn from
BEER_ROWS = {"quick": "800/200/300", "default": "8000/2000/994", "paper": None}  # to learn from, to choose, to test on
MOVIE_ROWS = {"quick": (300, 60), "default": (1600, 199), "paper": (1600, 199)}  # to learn from, to test on

SHARE = 0.2  # of the words of a movie review
CHANGES = 0.05  # of a word's being kept between neighbours, by hardkuma: some twenty runs in a review
LAST = 480  # words that are learned from: reviews conclude at the end
RATES = {"predictor": 5e-3, "generator": 5e-4}  # one to ten as published; its own rates need far more steps
ALIKE = {"predictor": 2e-3, "generator": 2e-3}
HASTY = {"predictor": 2e-3, "generator": 5e-3}
RATIONALES: dict[str, tuple[str, dict[str, Any]]] = {
    "rnp": ("rnp", {}),
    "rnp-straight-through": ("rnp-straight-through", {}),
    "rnp+rates-alike": ("rnp", {"rate": ALIKE}),
    "rnp+hasty-generator": ("rnp", {"rate": HASTY}),
    "three-player": ("three-player", {}),
    "hardkuma": ("hardkuma", {}),
    "fr": ("fr", {}),
    "mgr": ("mgr", {}),
    "mcd": ("mcd", {}),
    "a2r": ("a2r", {}),
    "a2r+rates-alike": ("a2r", {"rate": ALIKE}),
    "a2r+hasty-generator": ("a2r", {"rate": HASTY}),
    "a2r+released": ("a2r", {"form": "released"}),
    "a2r+anneal": ("a2r", {"anneal": 10}),
    **{f"a2r+lam={lam:g}": ("a2r", {"lam": lam}) for lam in (0.0, 0.1, 0.5, 2.0, 5.0)},
    "rnp+local": ("rnp", {}),
    "rnp+places": ("rnp", {}),
    "a2r+local": ("a2r", {}),
    "a2r+places": ("a2r", {}),
    "rnp/transformer": ("rnp", {}),
    "a2r/transformer": ("a2r", {}),
}
LOCAL = Nets(hidden=100, vectors="glove", window=20, smooth=9)  # of words near by, whose vectors learn
WHOLE = {  # rows that learn from whole movie reviews, not from their ends, and how they read
    "a2r+local": LOCAL,
    "rnp+local": LOCAL,
    "a2r+places": replace(LOCAL, places=True, sentences=True),
    "rnp+places": replace(LOCAL, places=True, sentences=True),
}
SLOW_RATES = {"predictor": 2e-4, "generator": 2e-4}  # of what is pretrained
SLOW_ROWS = {"eraser-movies": 250, "reviews": 2000}  # that it learns from: an epoch takes it long


def split_name(dataset: str) -> tuple[str, int]:
    """`reviews:preset=hard,skew=10` -> the set, and how long the predictor is skewed."""
    base, options = named(dataset)
    return base, options.get("skew", 0)


def rationale(
    row: str, dataset: str, scale: Literal["quick", "default", "paper"], seed: int
) -> tuple[str, dict[str, Any]]:
    """The model of a row and its settings."""
    method, own = RATIONALES[row]
    settings = dict(own)
    base, skew = split_name(dataset)
    rate = settings.pop("rate", RATES)
    if base == "eraser-movies":
        usual = Nets(hidden=100, vectors="glove", frozen=True, smooth=9)
        nets, epochs = WHOLE.get(row, usual), 3 if scale == "quick" else 8
        settings["recipe"] = Recipe(epochs=epochs, batch=20, rate={"predictor": 1e-3, "generator": 1e-3}, seed=seed)
        if method == "hardkuma":
            settings["changes"] = CHANGES
    else:
        nets = Nets(hidden=200, vectors="glove") if base == "beer-lei" else Nets()
        epochs = 8 if scale == "quick" else 12
        batch = 100 if scale == "quick" or skew else 200
        settings["recipe"] = Recipe(epochs=epochs, batch=batch, rate=rate, seed=seed)
    if row.endswith("/transformer"):
        nets = Nets(encoder="transformer", smooth=nets.smooth)
        settings["recipe"] = Recipe(epochs=1 if scale == "quick" else 2, batch=10, rate=SLOW_RATES, seed=seed)
    settings["skew"] = skew  # the data ask for it too; here it names the trial
    return method, {**settings, "nets": nets}
