"""Global importance, against scikit-learn on plain columns and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from torch import nn

import unmask
from audit.cases import W, planted, table
from unmask import importance, seeds
from unmask.errors import InputError
from unmask.importance import global_importance
from unmask.models import wrap


@pytest.fixture(scope="module")
def fitted():
    data = table(300)
    return data, LogisticRegression().fit(data.train.x.numpy(), data.train.y.numpy())


def test_plain_columns_are_shuffled_as_scikit_learn_does(fitted, monkeypatch):
    data, model = fitted
    found = global_importance(model, data, removal="zero", n=10**6)
    order = torch.randperm(len(data.test), generator=seeds.generator(seeds.derive(0, "importance")))
    x, y = data.test.x[order].numpy(), data.test.y[order].numpy()
    state = seeds.derive(0, "permutation") % 2**32
    said = permutation_importance(model, x, y, n_repeats=importance.REPEATS, random_state=state)
    assert np.allclose(found["permutation"], said.importances_mean, atol=1e-6)
    assert np.allclose(found["spread"], said.importances_std, atol=1e-6)


def test_ablation_and_shapley_are_their_formulas(fitted):
    data, model = fitted
    found = global_importance(model, data, removal="zero", n=10**6)
    x, y = data.test.x.numpy(), data.test.y.numpy()
    for j, name in enumerate(data.units):
        hidden = x.copy()
        hidden[:, j] = 0.0
        assert found.loc[name, "ablation"] == pytest.approx(model.score(x, y) - model.score(hidden, y), abs=1e-6)
    assert list(found["mean |Shapley|"].sort_values(ascending=False).index[:3]) == list(data.units[:3])
    assert W[:3].abs().tolist() == sorted(W[:3].abs().tolist(), reverse=True)


def test_columns_of_one_variable_are_shuffled_together():
    """The class is which of three one-hot columns is on: alone, a shuffled column would leave rows that nobody has."""
    import pandas

    kind = np.random.default_rng(0).choice(["red", "green", "blue"], 200)
    frame = pandas.DataFrame({"colour": kind, "size": np.random.default_rng(1).normal(size=200)})
    data = unmask.dataset(frame, (kind == "red").astype(int))

    def model(x):
        assert set(x["colour"]) <= {"red", "green", "blue"}
        red = torch.tensor((x["colour"] == "red").tolist()).float()
        return torch.stack([1 - red, red], 1)

    found = global_importance(wrap(model, takes="frame"), data, n=40)
    assert set(found.index) == {"colour", "size"}
    assert found.loc["size", "permutation"] == 0.0
    assert found.loc["colour", "permutation"] > 0.2


def test_pixels_have_importance_and_words_have_none():
    data = planted("image")
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    with torch.no_grad():
        net[1].weight.zero_()
        net[1].bias.zero_()
        net[1].weight[0, 2] = net[1].weight[1, 3] = 9.0
    found = global_importance(wrap(net, outputs="logits"), data)
    assert set(found["permutation"].sort_values().index[-2:]) == {data.units[2], data.units[3]}
    assert set(found["mean |Shapley|"].sort_values().index[-2:]) == {data.units[2], data.units[3]}
    with pytest.raises(InputError, match="words have no importance over all rows"):
        global_importance(net, planted("words"))
