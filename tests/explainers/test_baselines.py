"""The controls as explainers."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from explainers.samples import K, model, task
from nets.samples import PLAIN, dataset, values
from unmask.errors import InputError
from unmask.explainers.baselines import Control
from unmask.types import Explanation

ROWS = [["a"], ["a", "b"], ["a", "b", "c", "d"], ["a", "b", "c", "d", "e"]]


def explain(control: str, seed: int = 0) -> Explanation:
    return Control(K, control, seed=seed).fit(model("words"), task("words")).explain(ROWS)


def test_the_first_units_are_kept() -> None:
    assert explain("first-k").kept.int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 0, 0],
    ]


def test_the_last_units_of_each_row_are_kept() -> None:
    assert explain("last-k").kept.int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 1, 1, 1],
    ]


def test_random_units_are_uniform() -> None:
    """Every pair of the four units equally often."""
    data = dataset(PLAIN, values(PLAIN, 6000))
    kept = Control(2).fit(lambda x: torch.full((len(x), 2), 0.5), data).explain(data.test.x).kept
    pairs = (kept * torch.tensor([1, 2, 4, 8])).sum(1)
    counts = pairs.bincount(minlength=16)[[3, 5, 6, 9, 10, 12]]
    assert int(counts.sum()) == 6000
    assert chisquare(counts.numpy()).pvalue > 0.001


def test_random_units_depend_on_the_seed_and_the_row() -> None:
    data = dataset(PLAIN, values(PLAIN, 200))
    half = lambda x: torch.full((len(x), 2), 0.5)  # noqa: E731
    kept = [Control(2, seed=seed).fit(half, data).explain(data.test.x).kept for seed in (0, 0, 1)]
    assert torch.equal(kept[0], kept[1])
    assert not torch.equal(kept[0], kept[2])
    assert len({tuple(row) for row in kept[0].tolist()}) == 6


def test_the_name_is_the_method() -> None:
    assert [Control(1, name).method for name in ("random", "first-k", "last-k")] == ["random", "first-k", "last-k"]


def test_an_unknown_control_is_refused() -> None:
    with pytest.raises(InputError, match="unknown control 'frist-k'; did you mean 'first-k'"):
        Control(1, "frist-k")
