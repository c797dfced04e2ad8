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
