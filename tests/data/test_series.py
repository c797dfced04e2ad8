"""Series: features over time steps as units of flat rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import unmask
from unmask.data.series import flattened, series_codec, series_layout
from unmask.errors import InputError

X = torch.arange(2.0 * 3 * 2).view(2, 3, 2)


def test_steps_follow_each_other() -> None:
    flat, layout, codec = flattened(X, None)
    assert flat.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert layout.owner == (0, 1, 0, 1, 0, 1)
    assert layout.units == ("x1", "x2")
    assert codec.names() == ["t1/x1", "t1/x2", "t2/x1", "t2/x2", "t3/x1", "t3/x2"]
    frame = codec.decode(flat)
    assert isinstance(frame, pd.DataFrame)
    assert frame["t2/x2"].tolist() == [3, 9]


def test_a_hidden_unit_is_hidden_at_every_step() -> None:
    layout = series_layout(["a", "b", "c"], 2, {"ends": ["a", "c"], "middle": ["b"]})
    kept = torch.tensor([[True, False]])
    assert layout.spread(kept).tolist() == [[True, False, True, True, False, True]]
    assert layout.gather(torch.ones(1, 6)).tolist() == [[4, 2]]


def test_names_of_columns() -> None:
    assert series_codec(["speed"], 2).names() == ["t1/speed", "t2/speed"]


def test_nothing_to_see_is_refused() -> None:
    with pytest.raises(InputError, match=r"at least one of each, got \(2, 3, 0\)"):
        flattened(torch.zeros(2, 3, 0), None)


def test_a_network_of_series_is_explained() -> None:
    """The label hangs on feature 3 at the last step alone; the model reads (n, steps, features)."""
    x = np.random.default_rng(0).normal(size=(60, 4, 5)).astype(np.float32)
    data = unmask.dataset(x, (x[:, -1, 2] > 0).astype(int), kind="table")
    last = nn.Linear(5, 2)
    with torch.no_grad():
        last.weight.zero_()[1, 2] = 3.0
        last.bias.zero_()
    net = nn.Sequential(nn.Unflatten(1, (4, 5)), Last(), last)
    model = unmask.wrap(net, outputs="logits")
    for method in ("integrated-gradients", "occlusion"):
        found = unmask.fit(model, data, k=1, method=method).explain(data.test.x)
        assert (found.scores[:, [0, 1, 3, 4]] == 0).all()
        assert (found.scores[:, 2] != 0).all()


class Last(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, -1]
