from __future__ import annotations

from contextlib import nullcontext

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


@pytest.mark.parametrize(
    ("precision", "wanted"), [("auto", torch.float32), ("full", torch.float32), ("mixed", torch.bfloat16)]
)
def test_products_on_a_processor_are_mixed_only_where_asked_for(precision: str, wanted: torch.dtype) -> None:
    with devices.mixed(torch.device("cpu"), precision):
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == wanted


@pytest.mark.parametrize(("able", "on"), [(True, True), (False, False)])
def test_auto_is_mixed_on_cards_made_for_it(able: bool, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: able)
    asked: list[str] = []
    monkeypatch.setattr(torch, "autocast", lambda device, kind: asked.append(device) or nullcontext())
    with devices.mixed(torch.device("cuda"), "auto"):
        assert asked == (["cuda"] if on else [])
