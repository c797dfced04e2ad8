"""Tables for people."""

from __future__ import annotations

from typing import Any

from unmask.reproduce.rendering import as_markdown, grid


def line(row: str, metric: str, here: float | None, paper: float | None) -> dict[str, Any]:
    ends = (None, None) if here is None else (here - 1, here + 1)
    return {
        "table": "3",
        "dataset": "imdb",
        "row": row,
        "metric": metric,
        "paper": paper,
        "here": here,
        "low": ends[0],
        "high": ends[1],
        "note": "mind the gap",
    }


RESULT: dict[str, Any] = {
    "title": "A paper",
    "absent": "Table 9 is private.",
    "scale": "default",
    "controls": [line("random", "fs-m", 50.0, None)],
    "rows": [line("meed", "fs-m", 98.04, 97.5), line("meed", "fu-m", 51.0, None), line("infd", "fs-m", None, 40.5)],
}


def test_ours_stands_beside_the_papers() -> None:
    [(title, head, body)] = grid(RESULT)
    assert title == "Table 3, imdb"
    assert head == ["row", "fs-m", "paper", "fu-m"]
    assert body == [
        ["random", "50.0 (49.0–51.0)", "", ""],
        ["meed", "98.0 (97.0–99.0)", "97.5", "51.0 (50.0–52.0)"],
        ["infd", "", "40.5", ""],
    ]


def test_the_page_holds_everything() -> None:
    page = as_markdown([RESULT])
    for text in ("# Results", "## A paper", "Table 9 is private.", "mind the gap", "### Table 3, imdb (default scale)"):
        assert text in page
    assert "| meed | 98.0 (97.0–99.0) | 97.5 | 51.0 (50.0–52.0) |" in page
