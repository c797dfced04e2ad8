"""Anybody's scores as an Explanation, and through the audit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from foreign.samples import W, linear, table, toward
from unmask.errors import InputError, UnmaskWarning
from unmask.foreign import taken
from unmask.models import bind, wrap


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


def test_classes_are_counted_as_the_model_counts_them() -> None:
    """The data have the classes in another order than the model: what others made knows the model's alone."""
    straight = table()
    data = replace(straight, classes=("1", "0"), test=replace(straight.test, y=1 - straight.test.y))
    model, x = bind(replace(wrap(linear), labels=("0", "1")), data), data.test.x.numpy()
    assert model.order == (1, 0)
    toward_one = W * x
    both = np.stack([-toward_one, toward_one], -1)
    things = {
        "array": both,
        "lime": [SimpleNamespace(local_exp={1: list(enumerate(row))}) for row in toward_one.tolist()],
        "shap": SimpleNamespace(values=both, base_values=np.zeros(2), data=x),
        "named": SimpleNamespace(values=both[..., ::-1], base_values=np.zeros(2), data=x, output_names=["1", "0"]),
        "no base": SimpleNamespace(values=both, base_values=None, data=x),
    }
    one = torch.from_numpy(linear(x)[:, 1] > 0.5)
    want = torch.where(one[:, None], torch.from_numpy(toward_one), -torch.from_numpy(toward_one))
    for name, thing in things.items():
        found = taken(name, thing, model, data, 2, "test")
        torch.testing.assert_close(found.scores, want, msg=name)
        assert torch.equal(found.target == 0, one)  # the data's first class is "1"


def test_scores_that_choose_nothing_are_refused_or_told() -> None:
    data, model = table(), bind(linear, table())
    scores = np.zeros((len(data.test), 4), dtype=np.float32)
    with pytest.raises(InputError, match="'mine' are the same for every unit of every row, so they choose nothing"):
        taken("mine", scores, model, data, 2, "test")
    scores[::2, 1] = 1.0
    with pytest.warns(UnmaskWarning, match="in 50% of the rows the scores 'mine' are all equal"):
        taken("mine", scores, model, data, 2, "test")


def test_scores_that_name_their_classes_must_be_of_these_rows() -> None:
    data, model = table(), bind(linear, table())
    scores = torch.from_numpy(W * data.test.x.numpy())
    right = [data.classes[t] for t in model(data.test.x).argmax(1).tolist()]
    found = taken("mine", SimpleNamespace(scores=scores, target=right), model, data, 2, "test")
    torch.testing.assert_close(found.scores, scores)
    for wrong in (right[::-1], right[:-1]):
        with pytest.raises(InputError, match="'mine' explains another class than the model predicts in row"):
            taken("mine", SimpleNamespace(scores=scores, target=wrong), model, data, 2, "test")
