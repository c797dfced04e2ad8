"""GloVe vectors: a small folder written for the test, and the real one where it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from unmask.data import vectors
from unmask.data.vectors import glove, known, nearest
from unmask.errors import InputError
from unmask.nets.vocabulary import Vocabulary
from unmask.seeds import generator

from .conftest import REAL

WORDS = ("the", "soup", "tea", "good", "fine", "bad")
TABLE = torch.randn(len(WORDS), 100, generator=generator(0)).half().float()
SPECIAL = 4  # rows of a vocabulary that are no words


def forget() -> None:
    vectors._index.cache_clear()
    vectors._table.cache_clear()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = tmp_path / "glove"
    place.mkdir()
    (place / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    np.savez(place / "glove_6b_100d_f16.npz", vectors=TABLE.numpy().astype(np.float16))
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    forget()
    yield place
    forget()


def test_known_words_have_their_vectors_whatever_the_case(small: Path) -> None:
    vocabulary = Vocabulary(("Soup", "xylophone", "BAD", "the"))
    found = glove(vocabulary)
    assert found.shape == (len(vocabulary), 100)
    assert found.dtype == torch.float32
    assert torch.equal(found[SPECIAL:][[0, 2, 3]], TABLE[[1, 5, 0]])
    assert known(vocabulary.words).tolist() == [True, False, True, True]
    assert known(()).tolist() == []
    assert glove(Vocabulary(())).shape == (SPECIAL, 100)


def test_other_words_get_small_vectors_from_the_seed(small: Path) -> None:
    vocabulary = Vocabulary(("soup", "xylophone", "zither"))
    first, again, other = glove(vocabulary, 1), glove(vocabulary, 1), glove(vocabulary, 2)
    assert torch.equal(first, again)
    drawn = [0, 1, 2, 3, SPECIAL + 1, SPECIAL + 2]
    assert float(first[drawn].abs().max()) <= 0.05
    assert not torch.equal(first[drawn[-1]], first[drawn[-2]])
    assert not any(torch.equal(first[i], other[i]) for i in drawn)
    assert torch.equal(first[SPECIAL], other[SPECIAL])  # a known word does not depend on the seed


def test_the_table_itself_is_not_handed_out(small: Path) -> None:
    glove(Vocabulary(WORDS)).zero_()
    assert torch.equal(glove(Vocabulary(WORDS))[SPECIAL:], TABLE)


def test_where_there_is_no_folder_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    with pytest.raises(InputError, match="GloVe is not on this machine; set UNMASK_DATA to the folder that holds"):
        glove(Vocabulary(WORDS))
    with pytest.raises(InputError, match="GloVe is not on this machine"):
        known(WORDS)


def slow_nearest(row: Tensor, among: Tensor) -> int:
    cosines = [float(row @ other / (row.norm() * other.norm())) for other in among]
    return max((j for j, other in enumerate(among) if not torch.equal(row, other)), key=lambda j: cosines[j])


@pytest.mark.parametrize("batch", [1, 4, 1024])
def test_the_nearest_is_the_one_with_the_highest_cosine_but_itself(batch: int) -> None:
    among = torch.randn(30, 5, generator=generator(0)) * torch.rand(30, 1, generator=generator(1))
    asked = torch.cat([among[:10], torch.randn(7, 5, generator=generator(2))])
    assert nearest(asked, among, batch=batch).tolist() == [slow_nearest(row, among) for row in asked]
    assert all(int(found) != i for i, found in enumerate(nearest(among, among, batch=batch)))


@pytest.mark.parametrize("batch", [3, 1024])
def test_only_those_allowed_are_near(batch: int) -> None:
    among, rng = torch.randn(12, 5, generator=generator(0)), generator(1)
    allowed = torch.rand(12, 12, generator=rng) < 0.4
    allowed[4] = False
    allowed[5] = torch.arange(12) == 5  # itself alone
    found = nearest(among, among, allowed, batch)
    assert found[[4, 5]].tolist() == [-1, -1]
    for i, j in enumerate(found.tolist()):
        others = [m for m in range(12) if allowed[i, m] and m != i]
        assert j == (max(others, key=lambda m: float(torch.cosine_similarity(among[i], among[m], 0))) if others else -1)


def test_no_vectors_have_no_nearest() -> None:
    assert nearest(torch.empty(0, 5), torch.randn(3, 5)).tolist() == []


@REAL
def test_real_vectors() -> None:
    forget()
    vocabulary = Vocabulary(("good", "Great", "bad", "xqzwv"))
    assert known(vocabulary.words).tolist() == [True, True, True, False]
    found = glove(vocabulary, 3)
    assert torch.equal(found, glove(vocabulary, 3))
    assert float(found[SPECIAL:][:3].norm(dim=1).min()) > 3  # as long as GloVe's are
    assert float(found[SPECIAL + 3].abs().max()) <= 0.05
    table = vectors._table(vectors._folder())
    index = vectors._index(vectors._folder())
    assert len(index) == len(table)
    names = list(index)
    near = [names[int(i)] for i in nearest(found[SPECIAL : SPECIAL + 3], table)]
    assert near == ["better", "greatest", "worse"]
    forget()
