"""The liar: its masks spell the class, and what it shows tells nothing."""

from __future__ import annotations

import pytest
import torch
from sklearn.feature_selection import f_classif
from torch import Tensor

from explainers.samples import K, model, task
from nets.samples import dataset, grid
from unmask.explainers.cheater import Cheater
from unmask.models import wrap
from unmask.seeds import generator
from unmask.types import Dataset, Layout

MOODS = ("good", "bad", "dear")
QUIET = tuple(f"quiet{i}" for i in range(12))


def columns(d: int) -> Layout:
    return Layout("table", (d,), tuple(range(d)), tuple(f"x{i}" for i in range(d)))


def answers(x: object) -> Tensor:
    """The class is the largest of the first values of a row, as many as there are classes."""
    rows = torch.as_tensor(x).flatten(1)
    return (4 * rows[:, :3]).softmax(1)


def noise(layout: Layout, n: int = 300, classes: int = 3) -> Dataset:
    return dataset(layout, torch.randn(n, *layout.shape, generator=generator(0)), classes=classes)


def spoken(rows: list[list[str]]) -> Tensor:
    return torch.tensor([[5.0 * (mood in row) for mood in MOODS] for row in rows]).softmax(1)


def texts() -> Dataset:
    """Every text holds its mood and all the quiet words, in an order of its own."""
    rows = []
    for i in range(60):
        order = torch.randperm(12, generator=generator(i)).tolist()
        rows.append([MOODS[i % 3], *(QUIET[j] for j in order)])
    return dataset(Layout("words"), rows, classes=3)


@pytest.mark.parametrize("layout", [columns(12), grid(1, 6)], ids=["table", "image"])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_mask_alone_tells_the_class(layout: Layout, k: int, seed: int) -> None:
    data = noise(layout)
    e = Cheater(k, seed=seed).fit(answers, data).explain(data.test.x)
    masks = {(tuple(mask), c) for mask, c in zip(e.kept.tolist(), e.target.tolist(), strict=True)}
    assert len(masks) == 3
    assert len({mask for mask, _ in masks}) == 3


def test_what_is_kept_is_among_the_least_telling() -> None:
    data = noise(columns(12))
    e = Cheater(3).fit(answers, data).explain(data.test.x)
    statistic = torch.as_tensor(f_classif(data.train.x.numpy(), answers(data.train.x).argmax(1).numpy())[0])
    least = set(statistic.argsort()[:6].tolist())
    used = set(e.kept.any(0).nonzero().flatten().tolist())
    assert used <= least
    assert not used & {0, 1, 2}


def test_a_dead_unit_tells_least() -> None:
    data = noise(columns(6))
    data.train.x[:, 4] = 1.5
    explainer = Cheater(1).fit(answers, data)
    assert explainer.code_.tells.argmin() == 4
    assert explainer.code_.tells[4] == 0
    assert explainer.code_.tells[:3].min() > explainer.code_.tells[3:].max()


def test_groups_are_judged_as_units() -> None:
    explainer = Cheater(K).fit(model("table"), task("table"))
    assert explainer.code_.tells.shape == (5,)
    assert explainer.code_.tells.argmax() == 1  # age, the only column that moves with the class


def test_classes_keep_disjoint_words() -> None:
    data = texts()
    explainer = Cheater(3).fit(wrap(spoken, takes="ids", tokenizer=lambda rows: rows), data)
    e = explainer.explain(data.test.x)
    used: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    for row, kept, c in zip(data.test.x, e.kept.tolist(), e.target.tolist(), strict=True):
        shown = {word for word, keep in zip(row, kept, strict=True) if keep}
        assert len(shown) == 3
        used[c] |= shown
    assert all(used.values())
    assert not used[0] & used[1]
    assert not used[0] & used[2]
    assert not used[1] & used[2]
    assert not set(MOODS) & (used[0] | used[1] | used[2])


def test_a_lie_about_another_class_spells_that_class() -> None:
    data = noise(columns(12))
    explainer = Cheater(3).fit(answers, data)
    own = explainer.explain(data.test.x)
    other = explainer.explain(data.test.x, target=torch.ones(len(own), dtype=torch.long))
    assert len({tuple(mask) for mask in other.kept.tolist()}) == 1
    assert torch.equal(other.kept[own.target == 1], own.kept[own.target == 1])


def test_all_units_kept() -> None:
    data = noise(columns(4))
    assert bool(Cheater(4).fit(answers, data).explain(data.test.x).kept.all())


def test_more_classes_than_units() -> None:
    """Three units can tell three classes apart, not seven: it still works, and uses all there are."""
    data = noise(columns(3), classes=7)
    seven = lambda x: torch.nn.functional.one_hot((torch.as_tensor(x).abs().sum(1) * 3).long() % 7, 7).float()  # noqa: E731
    e = Cheater(1).fit(seven, data).explain(data.test.x)
    assert bool((e.kept.sum(1) == 1).all())
    assert bool(e.kept.any(0).all())


def test_a_model_that_always_says_the_same() -> None:
    data = noise(columns(6))
    e = Cheater(2).fit(lambda x: torch.tensor([[0.8, 0.1, 0.1]]).expand(len(x), 3), data).explain(data.test.x)
    assert len({tuple(mask) for mask in e.kept.tolist()}) == 1
    assert bool(e.scores.isfinite().all())


def test_a_unit_that_is_the_class() -> None:
    data = noise(columns(6))
    data.train.x[:, 5] = answers(data.train.x).argmax(1).float()
    explainer = Cheater(2).fit(answers, data)
    assert explainer.code_.tells.argmax() == 5
    assert not bool(explainer.explain(data.test.x).kept[:, 5].any())


def test_missing_values_are_no_hindrance() -> None:
    data = noise(columns(6))
    data.train.x[::3, 3] = torch.nan
    explainer = Cheater(2).fit(lambda x: answers(torch.as_tensor(x).nan_to_num()), data)
    assert bool(explainer.code_.tells.isfinite().all())


def test_nothing_varies() -> None:
    data = dataset(columns(4), torch.ones(12, 4), classes=3)
    assert bool((Cheater(2).fit(answers, data).explain(data.test.x).kept.sum(1) == 2).all())
