"""Figures by paper and number."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.reproduce import PAPERS
from unmask.reproduce.figures import FIGURES, drawn, narrowed
from unmask.reproduce.running import Request
from unmask.writing import add_line

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("paper", "figure"), sorted(FIGURES))
def test_every_figure_is_a_picture_or_waits_for_what_it_shows(paper: str, figure: str, tmp_path: Path) -> None:
    assert paper in PAPERS
    found = drawn(Request(paper, folder=tmp_path), figure)
    assert bool(found) == ((paper, figure) in {("a2r", "1"), ("a2r", "2"), ("seat", "5")})  # others show measurements
    for name, picture in found.items():
        assert name.endswith(".svg")
        assert "<svg" in picture


def test_the_sweep_of_lambda_is_drawn_from_its_table(tmp_path: Path) -> None:
    request = Request("a2r", folder=tmp_path)
    assert narrowed(request, "5").tables() == [t for t in request.tables() if t.name == "lambda"]
    assert narrowed(request, "1") == request
    values = {"f1": [80.0, 78.0, 82.0], "x1": [10.0, 8.0, 12.0]}
    for trial in narrowed(request, "5").trials():
        if trial.row in ("a2r", "a2r+lam=0", "a2r+anneal"):
            place = tmp_path / f"{trial.table.dataset.replace(':', '-')}-default.jsonl"
            add_line(place, json.dumps({"key": trial.key, "n": 10, "values": values}))
    found = drawn(request, "5")
    assert list(found) == ["lambda.svg"]
    assert re.findall(r">(0|1|0 to 1)</text>", found["lambda.svg"])[:3] == ["0", "1", "0 to 1"]  # left to right


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(InputError, match="unknown figure of a2r '9'"):
        drawn(Request("a2r"), "9")
