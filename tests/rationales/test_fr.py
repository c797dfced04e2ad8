"""FR: one encoder, moved by choosing and by telling."""

from __future__ import annotations

import pytest

from rationales.lessons import moved, ready, slopes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("free", [False, True])
def test_one_encoder_learns_all(free: bool) -> None:
    own, batch = ready("fr", free=free)
    assert own.net_.chooser.body is own.net_.teller.body
    loss = own._loss(batch)
    assert moved(slopes(loss, own.net_.teller.body))
    assert moved(slopes(own._loss(batch), own.net_.chooser.score))
    assert moved(slopes(own._loss(batch), own.net_.teller.head))
