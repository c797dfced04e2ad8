"""Figures by paper and number."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.reproduce import PAPERS
from unmask.reproduce.figures import FIGURES, drawn
from unmask.reproduce.running import Request

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("paper", "figure"), sorted(FIGURES))
def test_every_figure_is_a_picture_or_waits_for_what_it_shows(paper: str, figure: str, tmp_path: Path) -> None:
    assert paper in PAPERS
    found = drawn(Request(paper, folder=tmp_path), figure)
    assert bool(found) == (paper == "a2r")  # the others show what was measured
    for name, picture in found.items():
        assert name.endswith(".svg")
        assert "<svg" in picture


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(InputError, match="unknown figure of a2r '9'"):
        drawn(Request("a2r"), "9")
