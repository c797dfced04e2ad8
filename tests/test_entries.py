"""What a table says of a method."""

from __future__ import annotations

import subprocess
import sys

from unmask.entries import Method


def test_an_entry_needs_no_more_than_a_place_and_a_line() -> None:
    entry = Method("l2x:L2X", "a line")
    assert (entry.paper, dict(entry.settings), entry.needs_gradients) == ("", {}, False)


def test_names_are_listed_without_loading_torch() -> None:
    code = "import sys; from unmask.methods import METHODS; assert METHODS; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
