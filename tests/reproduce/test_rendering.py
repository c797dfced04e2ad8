"""Tables for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from unmask.cli.reproduce import render_step
from unmask.reproduce.rendering import as_markdown, claim_of, grid, measured
from unmask.reproduce.tables import Table

ROOT = Path(__file__).parents[2]


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
        "seeds": 0 if here is None else 1,
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


def test_a_mean_over_seeds_says_over_how_many() -> None:
    rows = [{**line("meed", "fs-m", 98.04, None), "seeds": 3}]
    [(_, _, body)] = grid({**RESULT, "controls": [], "rows": rows})
    assert body == [["meed", "98.0 (97.0–99.0) ×3"]]


def test_the_page_holds_everything() -> None:
    page = as_markdown([RESULT])
    for text in ("# Results", "## A paper", "Table 9 is private.", "mind the gap", "### Table 3, imdb (default scale)"):
        assert text in page
    assert "| meed | 98.0 (97.0–99.0) | 97.5 | 51.0 (50.0–52.0) |" in page


def claimed(row: str, metric: str, reading: str | None, bar: list[Any] | None) -> dict[str, Any]:
    return {**line(row, metric, 40.0, None), "claim": "Maps move.", "bar": bar, "reading": reading}


def test_a_claim_is_read_from_all_that_it_predicts() -> None:
    rows = [
        claimed("a", "moved", "holds", ["above", 10]),
        claimed("a", "lost", "holds", ["below", 2.5]),
        claimed("b", "moved", "holds", ["above", 10]),
        claimed("b", "lost", "open", ["below", 2.5]),
        claimed("c", "moved", "open", ["above", 10]),
        claimed("c", "lost", "does not", ["below", 2.5]),
        claimed("d", "moved", None, None),
    ]
    result = {**RESULT, "controls": [], "rows": rows}
    [(title, head, body)] = grid(result)
    assert head == ["row", "moved", "lost", "the claim"]
    assert [row[-1] for row in body] == ["holds", "open", "does not", ""]
    assert claim_of(result, title) == ["Maps move. It predicts moved above 10, lost below 2.5."]
    assert "**Maps move. It predicts" in as_markdown([result])
    assert claim_of(RESULT, "Table 3, imdb") == []


def test_rows_that_are_held_to_other_things_are_named() -> None:
    rows = [claimed("a", "moved", "holds", ["above", 10]), claimed("b", "moved", "holds", ["below", 1])]
    told = claim_of({**RESULT, "controls": [], "rows": rows}, "Table 3, imdb")
    assert told == ["Maps move. It predicts a: moved above 10; b: moved below 1."]


def test_a_table_without_its_first_metric_is_left_out() -> None:
    first, second = (Table(name, "imdb", "words", 10, "pad", ("fs-m", "fu-m"), ("meed",)) for name in ("1", "2"))
    found = {
        "rows": [{**line("meed", m, v, None), "table": t} for t, m, v in (("1", "fs-m", 98.0), ("2", "fu-m", 55.0))]
    }
    kept = measured({**found, "controls": []}, (first, second))
    assert [(x["table"], x["metric"]) for x in kept["rows"]] == [("1", "fs-m")]
    assert measured({**found, "controls": []}, (second,))["rows"] == []


def test_the_page_of_the_documentation_is_what_the_results_say(tmp_path: Path) -> None:
    """To the letter, and so are its pictures where the same matplotlib draws them."""
    render_step(ROOT / "results", tmp_path / "results.md", "default")
    for path in sorted(tmp_path.iterdir()):
        kept = (ROOT / "docs" / path.name).read_text("utf-8")
        elsewhere = path.suffix == ".svg" and f"Matplotlib v{mpl.__version__}" not in kept
        assert elsewhere or path.read_text("utf-8") == kept, f"docs/{path.name}: run unmask reproduce render"
    assert len(list(tmp_path.iterdir())) > 9
