"""Randomness that is asked for, and none that is left behind."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.seeds import derive, generator, seeded


def test_a_generator_of_its_own() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = torch.rand(5, generator=generator(3))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, torch.rand(5, generator=generator(3)))
    assert not torch.equal(first, torch.rand(5, generator=generator(4)))
    assert generator(3, "cpu").device == torch.device("cpu")


def test_seeds_for_different_uses_differ() -> None:
    labels = [(), ("a",), ("b",), ("a", "b"), ("ab",), ("a", 1), ("a", 2), ("a", 11), ("a", 1, 1)]
    found = [derive(seed, *label) for seed in (0, 1, 10) for label in labels]
    assert len(set(found)) == len(found)


@given(seed=st.integers(-(2**40), 2**40), label=st.text(max_size=8))
def test_a_derived_seed_is_stable_and_can_be_used(seed: int, label: str) -> None:
    assert derive(seed, label) == derive(seed, label)
    assert 0 <= derive(seed, label) < 2**48
    generator(derive(seed, label))


def test_a_derived_seed_is_the_same_on_every_machine() -> None:
    assert derive(0, "minimize") == 63509566640770


def test_inside_the_global_state_is_seeded_and_afterwards_as_before() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    with seeded(1):
        first = torch.rand(4)
    assert torch.equal(torch.get_rng_state(), before)
    with seeded(1):
        assert torch.equal(first, torch.rand(4))
    with seeded(2):
        assert not torch.equal(first, torch.rand(4))


def test_an_error_inside_restores_the_global_state_too() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="size"), seeded(1):
        torch.rand(3) + torch.rand(4)
    assert torch.equal(torch.get_rng_state(), before)


def test_nested_seeds_do_not_disturb_each_other() -> None:
    with seeded(1):
        torch.rand(2)
        alone = torch.rand(2)
    with seeded(1):
        torch.rand(2)
        with seeded(5):
            torch.rand(9)
        assert torch.equal(alone, torch.rand(2))


@pytest.mark.skipif(torch.cuda.is_available(), reason="where there is such a device it is seeded too")
def test_no_call_stack_is_kept_for_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.manual_seed would: sixty times slower in a deep stack."""
    monkeypatch.setattr("traceback.format_stack", lambda *_: pytest.fail("the call stack was written down"))
    with seeded(1):
        first = torch.rand(2)
    assert torch.equal(first, torch.rand(2, generator=generator(1)))


def test_every_device_is_seeded_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "manual_seed", asked.append)
    with seeded(4):
        pass
    assert asked == [4]
