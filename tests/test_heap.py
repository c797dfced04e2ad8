"""Freed memory is used again inside, and given back afterwards; whoever chose otherwise is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch

from unmask import heap
from unmask.heap import CHOSEN, KEEP, USUAL, kept

resource = pytest.importorskip("resource", reason="pages that the system hands out are counted on Linux and macOS")

HERE = Path(__file__).parent
BLOCKS, FLOATS = 40, 9 * 2**20  # 36 MB each: more than the library keeps by itself


class FakeLibrary:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.options: dict[int, int] = {}
        self.trimmed = 0

    def mallopt(self, option: int, value: int) -> int:
        self.options[option] = value
        return 1

    def malloc_trim(self, pad: int) -> int:
        self.trimmed += 1
        return 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    fake = FakeLibrary()
    monkeypatch.setattr(heap, "_library", lambda: fake)
    for name in CHOSEN:
        monkeypatch.delenv(name, raising=False)
    yield fake
    assert heap._inside == []


def faults(inside: AbstractContextManager[None]) -> int:
    """Pages that the system had to hand out for some blocks, one after the other."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with inside:
        for _ in range(BLOCKS):
            torch.ones(FLOATS)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_blocks_are_used_again() -> None:
    if heap._library() is None:
        pytest.skip("the C library is not glibc: its memory cannot be told to stay")
    usual, inside = _in_new_process()
    assert inside < usual / 2  # one block would be enough, but pieces between them grow the heap at first


def _in_new_process() -> list[int]:
    """Faults without and with: what other tests have freed would serve here, and nothing would be asked for."""
    script = (
        "from contextlib import nullcontext; from test_heap import faults; from unmask.heap import kept; "
        "faults(nullcontext()); print(faults(nullcontext()), faults(kept()))"
    )
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


def test_the_last_one_out_gives_it_back(library: FakeLibrary) -> None:
    with kept():
        with kept():
            pass
        assert library.options == KEEP
        assert library.trimmed == 0
    assert library.options == USUAL
    assert library.trimmed == 1


def test_an_error_gives_it_back_too(library: FakeLibrary) -> None:
    with pytest.raises(ValueError, match="no luck"), kept():
        raise ValueError("no luck")
    assert library.options == USUAL


@pytest.mark.parametrize("name", CHOSEN)
def test_what_the_user_chose_stays(name: str, library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "glibc.malloc.arena_max=1")
    with kept():
        pass
    assert library.options == {}


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    heap._library.cache_clear()
    monkeypatch.setattr("sys.platform", "darwin")
    assert heap._library() is None
    with kept():
        pass
    heap._library.cache_clear()
