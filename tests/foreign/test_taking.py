"""Anybody's scores as an Explanation, and through the audit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from foreign.samples import W, linear, table, toward
from unmask.errors import InputError
from unmask.foreign import taken
from unmask.models import bind


def test_the_same_scores_by_three_ways_are_one_explanation() -> None:
    data = table()
    model, x = bind(linear, data), data.test.x.numpy()
    shap = SimpleNamespace(values=W * x, base_values=0.0, data=x)
    lime = [SimpleNamespace(local_exp={1: list(enumerate(row))}) for row in (W * x).tolist()]
    found = [taken("mine", thing, model, data, 2, "test") for thing in (shap, lime)]
    signed = toward(SimpleNamespace(target=found[0].target), torch.from_numpy(W * x))  # type: ignore[arg-type]
    found.append(taken("mine", signed, model, data, 2, "test"))
    assert [e.origin["method"] for e in found] == ["shap", "lime", "given"]
    for e in found:
        torch.testing.assert_close(e.scores, signed)
        assert torch.equal(e.kept, found[0].kept)
        assert e.kept.sum(1).tolist() == [2] * len(x)
        assert torch.equal(e.target, model(data.test.x).argmax(1))


def test_values_that_are_not_finite_are_refused() -> None:
    data = table()
    with pytest.raises(InputError, match="the scores 'mine' hold values that are not finite"):
        taken("mine", np.full((30, 4), np.inf), bind(linear, data), data, 2, "test")
