"""Bai et al. 2021: Table 3, post-hoc accuracy (FS-M) in per cent. Tables 1 and 2 are about attention."""

from __future__ import annotations

from unmask.reproduce.tables import CONTROLS, Kind, Table

__all__ = ["TABLES"]

ROWS = (
    "gradient",
    "lime",
    "cxplain",
    "l2x",
    "vibi",
    "l2x+feedback",
    "l2x+feedback+pretraining",
    "l2x+feedback+weighting",
)
PUBLISHED = {
    "imdb": (85.6, 89.8, 90.6, 89.2, 90.8, 48.8, 97.1, 94.3),
    "yelp-sentences": (82.3, 87.4, 97.7, 88.2, 94.4, 77.8, 99.0, 87.7),
    "mnist-3-8": (98.2, 80.4, 99.4, 91.4, 98.3, 94.9, 66.3, 99.8),
    "fashion-pullover-shirt": (58.6, 75.6, 59.7, 77.3, 84.1, 85.3, 89.4, 95.4),
}
NOTES = {"yelp-sentences": "The paper uses Yelp Review Polarity, whole reviews; these are short sentences of it."}
SIZES = {"imdb": 10, "yelp-sentences": 5, "mnist-3-8": 25, "fashion-pullover-shirt": 64}
OURS = ("gradient-x-input", "gradient-x-input-abs", "l2x+feedback+weighting-shown", "meed", "mimic")


def _table(dataset: str, kind: Kind) -> Table:
    published = {row: {"fs-m": value} for row, value in zip(ROWS, PUBLISHED[dataset], strict=True)}
    removal = "pad" if kind == "words" else "zero"
    rows, metrics = (*CONTROLS, *ROWS, *OURS), ("fs-m", "fu-m", "approximator")
    return Table("3", dataset, kind, SIZES[dataset], removal, metrics, rows, published, NOTES.get(dataset, ""))


TABLES = (
    _table("imdb", "words"),
    _table("yelp-sentences", "words"),
    _table("mnist-3-8", "image"),
    _table("fashion-pullover-shirt", "image"),
)
