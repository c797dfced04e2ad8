"""What all tests share: one thread for each process, and the folder of real data."""

from __future__ import annotations

import os
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
