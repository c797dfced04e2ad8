"""Players of an online game, a recommended teammate, and whether the pair played on: groups of features over time.

Generated in the shape of the game data of Liang et al. 2020 (Adversarial Infidelity Learning): 643 features at three
time steps, in 41 groups that are the units. Inside a group features share a hidden state that changes slowly over time;
groups are independent of each other, so nothing outside the deciding groups tells the label.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask import seeds
from unmask.data.series import series_codec, series_layout
from unmask.data.splits import array_split, joined
from unmask.errors import InputError
from unmask.types import Dataset, Layout, Split

__all__ = ["DECIDING", "GROUPS", "STEPS", "SWITCH", "game", "relevant", "score"]

STEPS = 3
GROUPS = {  # group -> its levels (measured numbers), counts (mostly 0) and flags (0 or 1)
    "account": (6, 0, 5),
    "device": (4, 0, 9),
    "region": (0, 0, 18),
    "sessions": (12, 4, 0),
    "hours": (9, 5, 2),
    "weekends": (6, 6, 0),
    "streaks": (4, 8, 0),
    "queue": (6, 4, 8),
    "rank": (10, 0, 4),
    "rating": (14, 0, 0),
    "wins": (8, 12, 0),
    "losses": (8, 12, 0),
    "kills": (8, 12, 0),
    "deaths": (8, 9, 0),
    "assists": (8, 10, 0),
    "damage": (18, 0, 0),
    "healing": (12, 3, 0),
    "vision": (8, 9, 0),
    "gold": (16, 0, 0),
    "objectives": (4, 16, 0),
    "heroes": (0, 24, 6),
    "roles": (5, 5, 5),
    "items": (0, 24, 4),
    "skins": (0, 8, 10),
    "maps": (0, 10, 4),
    "friends": (6, 8, 0),
    "parties": (4, 10, 2),
    "guild": (3, 5, 6),
    "chat": (4, 14, 2),
    "voice": (3, 3, 3),
    "emotes": (0, 12, 0),
    "reports": (0, 9, 2),
    "honours": (2, 8, 0),
    "quits": (2, 7, 1),
    "latency": (9, 2, 0),
    "crashes": (0, 5, 0),
    "spending": (5, 8, 3),
    "shop": (2, 11, 4),
    "events": (0, 11, 8),
    "quests": (2, 14, 3),
    "watching": (3, 6, 1),
}
SWITCH = "queue"  # above its middle the pair met in ranked matches, below it in casual ones
DECIDING = {"ranked": ("rating", "roles", "latency"), "casual": ("friends", "voice", "hours")}
WEIGHTS = (1.5, 1.0, -1.0)  # of the three deciding groups, in this order
RECENT = (0.2, 0.3, 0.5)  # of the three time steps, in a group's summary
PERSISTENCE = 0.8  # correlation of a state with itself one time step before
APART = 2.0  # how far the switch group's states stand from the middle, in standard deviations
CLASSES = ("parted", "played on")
HELD_OUT = 5  # training rows for each row of validation, and of test


@dataclass(frozen=True)
class _Build:
    """How the 643 features follow their group's state: fixed once, the same for every seed of the data."""

    names: tuple[str, ...]  # group/feature
    group: Tensor  # (643,) number of the group
    kind: Tensor  # (643,) 0 level, 1 count, 2 flag
    load: Tensor  # (643,) correlation of the feature's own state with its group's
    centre: Tensor  # (643,) a level's middle, a count's log-rate, a flag's threshold
    spread: Tensor  # (643,) of a level

    def layout(self) -> Layout:
        groups: dict[str, list[int | str]] = {name: [] for name in GROUPS}
        for name in self.names:
            groups[name.partition("/")[0]].append(name)
        return series_layout(self.names, STEPS, groups)


@functools.cache
def _build() -> _Build:
    rng = seeds.generator(seeds.derive(0, "game", "features"))
    kinds = [(g, k, i) for g, sizes in GROUPS.items() for k, n in enumerate(sizes) for i in range(1, n + 1)]
    names = tuple(f"{g}/{('level', 'count', 'flag')[k]}-{i}" for g, k, i in kinds)
    group = torch.tensor([list(GROUPS).index(g) for g, _, _ in kinds])
    kind = torch.tensor([k for _, k, _ in kinds])
    drawn = torch.rand(3, len(names), generator=rng)
    centre = torch.stack([20 * drawn[1] - 10, -2.5 + 1.5 * drawn[1], -1 + 2 * drawn[1]])
    return _Build(
        names=names,
        group=group,
        kind=kind,
        load=0.6 + 0.3 * drawn[0],
        centre=centre.gather(0, kind[None])[0],
        spread=10 ** (2 * drawn[2] - 1),
    )


def game(name: str, seed: int, n: int = 10_000, noise: float = 0.02) -> Dataset:
    """`n` training rows, a fifth as many to validate and to test; columns are called t1/group/feature.

    `noise` is the share of labels that were turned over, so that nobody is right more often than 1 - noise.
    """
    if n < 1:
        raise InputError(f"n is the number of training rows and must be at least 1, got {n}")
    if not 0 <= noise < 0.5:
        raise InputError(f"noise is the share of labels turned over and must be from 0 to below 0.5, got {noise}")
    build = _build()
    sizes = {"train": n, "validation": math.ceil(n / HELD_OUT), "test": math.ceil(n / HELD_OUT)}
    parts = [_split(size, seeds.derive(seed, name, part), noise) for part, size in sizes.items()]
    notes = {
        "source": "generated",
        "noise": noise,
        "switch": SWITCH,
        "deciding": {queue: list(groups) for queue, groups in DECIDING.items()},
        "truth": "unmask.data.game.score",
    }
    return joined(name, build.layout(), CLASSES, parts, notes, series_codec(build.names, STEPS))


def _split(n: int, seed: int, noise: float) -> Split:
    rng = seeds.generator(seed)
    x = torch.stack(list(_steps(n, rng)), 1).flatten(1)  # (n, 3 * 643)
    turned = torch.rand(n, generator=rng) < noise
    y = ((score(x) > 0) ^ turned).long()
    return array_split(x, y, _build().layout(), relevant(x))


def _steps(n: int, rng: torch.Generator) -> Iterator[Tensor]:
    """(n, 643) values, step by step: states drift, features follow the state of their group."""
    build = _build()
    state = torch.randn(n, len(GROUPS), generator=rng)
    own = torch.randn(n, len(build.names), generator=rng)
    shift = torch.zeros(n, len(GROUPS))
    shift[:, list(GROUPS).index(SWITCH)] = APART * (2.0 * torch.randint(2, (n,), generator=rng) - 1)
    for _ in range(STEPS):
        pull = (state + shift)[:, build.group]
        yield _values(build.load * pull + (1 - build.load**2).sqrt() * own, rng)
        state, own = _drifted(state, rng), _drifted(own, rng)


def _drifted(state: Tensor, rng: torch.Generator) -> Tensor:
    fresh = torch.randn(state.shape, generator=rng)
    return PERSISTENCE * state + math.sqrt(1 - PERSISTENCE**2) * fresh


def _values(state: Tensor, rng: torch.Generator) -> Tensor:
    """What is recorded of each feature's state: a level in its own unit, a Poisson count, or a flag."""
    build = _build()
    counts = build.kind == 1
    values = torch.where(build.kind == 0, build.centre + build.spread * state, (state > build.centre).float())
    values[:, counts] = torch.poisson((build.centre + state)[:, counts].clamp(max=5).exp(), generator=rng)
    return values


def score(x: Tensor) -> Tensor:
    """(n,) what decides: the label is `played on` where it is above 0, but for the labels turned over."""
    ranked, casual = (
        torch.stack([weight * _summary(x, group) for weight, group in zip(WEIGHTS, groups, strict=True)]).sum(0)
        for groups in DECIDING.values()
    )
    return torch.where(_is_ranked(x), ranked, casual)


def relevant(x: Tensor) -> Tensor:
    """(n, 41) bool: the switch group, and the three groups that decide on its side."""
    ranked = _is_ranked(x)
    names = list(GROUPS)
    kept = torch.zeros(len(x), len(names), dtype=torch.bool)
    kept[:, names.index(SWITCH)] = True
    for side, groups in zip((ranked, ~ranked), DECIDING.values(), strict=True):
        for group in groups:
            kept[:, names.index(group)] = side
    return kept


def _is_ranked(x: Tensor) -> Tensor:
    return _summary(x, SWITCH) > 0


def _summary(x: Tensor, group: str) -> Tensor:
    """(n,) mean of a group's features, brought to one scale, the recent steps weighing more.

    A level is standardised; of a count stands log(1 + count), of a flag twice the flag, both less their usual value.
    """
    build = _build()
    if x.ndim != 2 or x.shape[1] != STEPS * len(build.names):
        raise InputError(f"x must be (n, {STEPS * len(build.names)}), the rows of game, got {tuple(x.shape)}")
    mine = build.group == list(GROUPS).index(group)
    values = x.view(len(x), STEPS, -1)[:, :, mine].double()  # (n, 3, features of the group)
    centre, spread, kind = build.centre[mine], build.spread[mine], build.kind[mine]
    count = torch.log1p(values.clamp(min=0)) - torch.log1p((centre + 0.5).exp())  # e^(c + 1/2): mean of e^(c + N(0, 1))
    flag = 2 * (values - 0.5 * torch.erfc(centre / math.sqrt(2)))
    scaled = torch.where(kind == 0, (values - centre) / spread, torch.where(kind == 1, count, flag))
    return (scaled.mean(2) * torch.tensor(RECENT, dtype=scaled.dtype)).sum(1)
