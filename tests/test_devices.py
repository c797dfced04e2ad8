from __future__ import annotations

import pytest
import torch

from unmask import devices


def test_a_named_device_is_taken_as_it_is() -> None:
    assert devices.pick("cpu") == torch.device("cpu")


@pytest.mark.parametrize(("cuda", "mps", "name"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_takes_the_fastest_there_is(cuda: bool, mps: bool, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert devices.pick() == torch.device(name)


@pytest.mark.parametrize(("precision", "wanted"), [("full", torch.float32), ("mixed", torch.bfloat16)])
def test_products_on_a_processor_are_mixed_only_where_asked_for(precision: str, wanted: torch.dtype) -> None:
    with devices.mixed(torch.device("cpu"), precision):
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == wanted


def test_what_must_be_exact_is_not_rounded_inside() -> None:
    with devices.mixed(torch.device("cpu"), "mixed"):
        with devices.exact():
            assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == torch.float32
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == torch.bfloat16
    with devices.exact():
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == torch.float32


@pytest.mark.parametrize("kind", ["cpu", "mps"])  # torch lets nobody ask for cuda where there is none
def test_no_kind_of_device_rounds_inside(kind: str) -> None:
    with torch.autocast("cpu", torch.bfloat16), torch.autocast(kind, torch.bfloat16):
        assert torch.is_autocast_enabled(kind)
        with devices.exact():
            assert not any(torch.is_autocast_enabled(each) for each in devices.KINDS)
        assert torch.is_autocast_enabled(kind)
