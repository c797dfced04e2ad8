"""The three controls on rows of different length."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from unmask.masking.controls import CONTROLS, control_scores, first_k, last_k, random_k
from unmask.seeds import generator

VALID = torch.arange(5) < torch.tensor([[5], [3], [1], [0]])


def test_there_are_three() -> None:
    assert {"random": random_k, "first-k": first_k, "last-k": last_k} == CONTROLS


def test_first_and_last_stand_at_their_ends() -> None:
    _, first = control_scores("first-k", VALID, 2, generator(0))
    _, last = control_scores("last-k", VALID, 2, generator(0))
    assert [row.nonzero()[:, 0].tolist() for row in first] == [[0, 1], [0, 1], [0], []]
    assert [row.nonzero()[:, 0].tolist() for row in last] == [[3, 4], [1, 2], [0], []]


def test_random_ranks_every_valid_unit_alike() -> None:
    valid = torch.tensor([True, False, True, True]).expand(6000, -1)
    scores, kept = control_scores("random", valid, 1, generator(0))
    assert torch.equal(kept.int().argmax(1), scores.masked_fill(~valid, -1.0).argmax(1))
    assert kept[:, 1].sum() == 0
    assert chisquare(kept.sum(0)[[0, 2, 3]].numpy()).pvalue > 1e-3


@pytest.mark.parametrize("name", CONTROLS)
def test_each_row_keeps_its_own_number(name: str) -> None:
    k = torch.tensor([4, 2, 3, 1])
    scores, kept = control_scores(name, VALID, k, generator(0))
    assert scores.shape == kept.shape == VALID.shape
    assert kept.sum(1).tolist() == [4, 2, 1, 0]
    assert not bool((kept & ~VALID).any())


def test_random_follows_its_generator() -> None:
    rng = generator(1)
    first, second = random_k(VALID, rng), random_k(VALID, rng)
    assert torch.equal(first, random_k(VALID, generator(1)))
    assert not torch.equal(first, second)
