"""MCD: a rationale that is the whole row loses nothing."""

from __future__ import annotations

import pytest
import torch

from rationales.lessons import moved, ready, slopes
from unmask.training import soft_cross_entropy

pytestmark = pytest.mark.slow


def test_nothing_is_lost_where_all_is_kept() -> None:
    own, batch = ready("mcd", k=4)
    assert float(own._choosing(batch).detach()) == pytest.approx(0, abs=1e-5)
    own, batch = ready("mcd", k=1)
    assert float(own._choosing(batch).detach()) > 1e-5


def test_the_predictor_reads_part_and_whole() -> None:
    own, batch = ready("mcd", k=4)
    whole = soft_cross_entropy(own.net_.teller(batch.x, batch.valid.float()), batch.y).mean()
    torch.testing.assert_close(own._predicting(batch), 2 * whole)


def test_who_learns_from_what() -> None:
    own, batch = ready("mcd")
    assert not moved(slopes(own._predicting(batch), own.net_.chooser))
    assert moved(slopes(own._choosing(batch), own.net_.chooser))
