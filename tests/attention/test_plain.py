"""Attention as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attention.samples import K, model, net, task
from unmask.attention.plain import Attention
from unmask.errors import NotFittedError
from unmask.loading import load


def test_the_scores_are_the_weights_the_model_itself_gives() -> None:
    data, module = task(), net()
    found = Attention(K).fit(model(), data).explain(data.test.x)
    with torch.no_grad():
        weights, _ = module.attend(module.reader.prepare(data.test.x))
    torch.testing.assert_close(found.scores, weights)
    assert torch.equal(found.target, model()(data.test.x).argmax(1))


def test_it_comes_back_from_disk_with_its_model(tmp_path: Path) -> None:
    data = task()
    kept = Attention(K).fit(model(), data)
    kept.save(tmp_path / "weights")
    again = load(tmp_path / "weights", model=model())
    assert torch.equal(again.explain(data.test.x).scores, kept.explain(data.test.x).scores)
    with pytest.raises(NotFittedError, match="loaded without its model"):
        load(tmp_path / "weights").explain(data.test.x)
