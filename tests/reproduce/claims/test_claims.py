"""Every claim has its experiment."""

from __future__ import annotations

import pytest

from unmask.reproduce.claims import EXPERIMENTS, experiment
from unmask.reproduce.critique import TABLES


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_there_and_says_what_it_shows(name: str) -> None:
    found = experiment(name)
    assert found.__name__ == EXPERIMENTS[name].partition(":")[2]
    assert found.__doc__
    assert name in {table.name for table in TABLES}
