"""The generated game: its shape, its truth, and what a model makes of it."""

from __future__ import annotations

import pytest
import torch

import unmask
from unmask.data import game, load
from unmask.errors import InputError
from unmask.training import Recipe
from unmask.types import Dataset

pytestmark = pytest.mark.slow

NAMES = list(game.GROUPS)


@pytest.fixture(scope="module")
def made() -> Dataset:
    return load("game", n=4000, seed=5)


def test_three_steps_of_643_features_in_41_groups(made: Dataset) -> None:
    assert made.train.x.shape == (4000, 3 * 643)
    assert made.units == tuple(NAMES)
    assert len(NAMES) == 41
    widths = [len(columns) for columns in made.groups]
    assert widths == [3 * sum(sizes) for sizes in game.GROUPS.values()]
    assert len(set(widths)) > 10
    names = made.frames.names()  # type: ignore[union-attr]
    assert len(set(names)) == 3 * 643
    assert names[0] == "t1/account/level-1"
    for unit, columns in enumerate(made.groups):
        assert {names[c].split("/")[1] for c in columns} == {NAMES[unit]}
        assert {names[c].split("/")[0] for c in columns} == {"t1", "t2", "t3"}


def test_levels_counts_and_flags(made: Dataset) -> None:
    names = made.frames.names()  # type: ignore[union-attr]
    counts = made.train.x[:, [i for i, name in enumerate(names) if "/count-" in name]]
    flags = made.train.x[:, [i for i, name in enumerate(names) if "/flag-" in name]]
    assert torch.equal(counts, counts.round())
    assert float(counts.min()) == 0
    assert float((counts == 0).float().mean()) > 0.5  # sparse
    assert float(counts.max()) > 1
    assert set(flags.unique().tolist()) == {0, 1}


def test_features_go_together_in_a_group_and_over_time_only(made: Dataset) -> None:
    columns = {name: i for i, name in enumerate(made.frames.names())}  # type: ignore[union-attr]
    pick = ["t1/damage/level-1", "t1/damage/level-2", "t2/damage/level-1", "t3/damage/level-1", "t1/gold/level-1"]
    found = torch.corrcoef(made.train.x[:, [columns[name] for name in pick]].T)[0]
    load = game._build().load[[game._build().names.index(f"damage/level-{i}") for i in (1, 2)]]
    error = 4 / 4000**0.5
    assert abs(float(found[1] - load.prod())) < error
    assert abs(float(found[2]) - game.PERSISTENCE) < error
    assert abs(float(found[3]) - game.PERSISTENCE**2) < error
    assert abs(float(found[4])) < error


def test_relevant_groups_follow_the_switch(made: Dataset) -> None:
    truth = made.train.relevant
    assert truth is not None
    kinds = {frozenset(NAMES[i] for i in row.nonzero().flatten().tolist()) for row in truth}
    assert kinds == {frozenset({game.SWITCH, *groups}) for groups in game.DECIDING.values()}
    assert 0.4 < float(truth[:, NAMES.index("rating")].float().mean()) < 0.6


def test_only_relevant_groups_decide(made: Dataset) -> None:
    part = made.test
    assert part.relevant is not None
    other = torch.where(made.layout.spread(part.relevant), part.x, made.validation.x)
    assert torch.equal(game.score(part.x), game.score(other))
    assert torch.equal(game.relevant(other), part.relevant)
    for group in (*game.DECIDING["ranked"], *game.DECIDING["casual"]):
        rows = part.relevant[:, NAMES.index(group)]
        kept = torch.ones(len(part), 41, dtype=torch.bool)
        kept[:, NAMES.index(group)] = False
        changed = game.score(torch.where(made.layout.spread(kept), part.x, made.validation.x)) != game.score(part.x)
        assert torch.equal(changed, rows)


@pytest.mark.slow
def test_noise_is_the_share_of_labels_turned_over(made: Dataset) -> None:
    assert torch.equal(load("game", n=500, noise=0).train.y, (game.score(load("game", n=500).train.x) > 0).long())
    noisy = load("game", n=4000, noise=0.2)
    wrong = float(((game.score(noisy.train.x) > 0).long() != noisy.train.y).double().mean())
    assert abs(wrong - 0.2) < 3 * (0.2 * 0.8 / 4000) ** 0.5
    assert made.classes == ("parted", "played on")
    assert 0.4 < float(made.train.y.double().mean()) < 0.6


def test_mistakes() -> None:
    with pytest.raises(InputError, match="n is the number of training rows and must be at least 1, got 0"):
        load("game", n=0)
    with pytest.raises(InputError, match=r"noise is the share of labels turned over.*got 0.5"):
        load("game:noise=0.5")
    with pytest.raises(InputError, match=r"x must be \(n, 1929\), the rows of game, got \(2, 643\)"):
        game.score(torch.zeros(2, 643))


@pytest.mark.slow
def test_a_model_learns_it_and_attributions_find_the_groups() -> None:
    data = load("game")
    model = unmask.train_model(data, recipe=Recipe(epochs=4, batch=128, rate=1e-3))
    assert model.describe()["test accuracy"] > 0.85
    truth = data.test.relevant[:150]  # type: ignore[index]
    for method in ("integrated-gradients", "occlusion"):
        found = unmask.fit(model, data, k=4, method=method).explain(data.test.x[:150])
        hits = float((found.kept & truth).sum() / found.kept.sum())
        assert hits > 5 * float(truth.double().mean())  # of 41 groups 4 are relevant
