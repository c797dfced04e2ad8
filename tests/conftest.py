"""What all tests share: one thread for each process, the folder of real data, audits in a moment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

# Read by torch when it is first imported; setting it costs no import. Two test processes share two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that ask for it are skipped where it is absent."""
    named = os.environ.get("UNMASK_DATA")
    if not named:
        pytest.skip("UNMASK_DATA is not set: the real data sets are not on this machine")
    if not Path(named).is_dir():
        pytest.skip(f"UNMASK_DATA names {named}, which is not a folder")
    return Path(named)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges of one epoch, one of each kind: the numbers mean little, the way they take is the same."""
    from sklearn.ensemble import RandomForestClassifier

    from unmask.audit import locked, smuggling

    def bush(trees: int, random_state: int, n_jobs: int) -> RandomForestClassifier:
        return RandomForestClassifier(5, random_state=random_state, n_jobs=n_jobs)

    monkeypatch.setattr(smuggling, "RandomForestClassifier", bush)
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    for module in (locked, smuggling):
        monkeypatch.setattr(module, "RECIPE", replace(module.RECIPE, epochs=1))
