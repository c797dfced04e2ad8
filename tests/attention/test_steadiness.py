"""What is measured of an attention model before and after, and what is promised."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from attention.samples import K, lessons, net
from unmask import distances, seeds
from unmask.attention.lessons import Lesson
from unmask.attention.steadiness import promises, steadiness
from unmask.models.attacking import ascend
from unmask.models.attending import noise
from unmask.nets.attention import AttentionNet
from unmask.nets.vocabulary import HIDDEN
from unmask.training import soft_cross_entropy

pytestmark = pytest.mark.slow


def wandered(noise: float = 0.3) -> Lesson:
    return lessons(noise=noise)


def shaken(made: AttentionNet, x: Tensor, radius: float, seed: int) -> tuple[Tensor, Tensor]:
    """Answers and attention of one of our nets, its word vectors moved by hand."""
    rng = seeds.generator(seeds.derive(seed, "noise on vectors"))
    by = noise(torch.Size([*x.shape, made.embedding.table.embedding_dim]), radius, rng)
    states = made.encoder(made.embedding(x) + by * (x > HIDDEN)[..., None], x != 0)
    w = made.attention(states, x != 0)
    return made.answer(states, w).softmax(1).detach(), w.detach()


# --- what is measured -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("radius", [0.05, 1.0])
def test_steadiness_is_measured_under_one_draw_of_noise(hooked: bool, radius: float) -> None:
    made = lessons(hooked)
    part, given = made.held, net()
    found = steadiness(made.given, part, K, 5, radius)
    p, w = shaken(given, part.x, radius, 5)
    assert found["jsd"] == pytest.approx(float(distances.jsd(part.w, w, part.valid).mean()), rel=1e-2)
    assert found["tvd"] == pytest.approx(float(distances.tvd(part.p, p).mean()), rel=1e-3)
    assert found["entropy"] == pytest.approx(float(distances.entropy(part.w, part.valid).mean()), abs=1e-5)
    assert found["overlap"] == 1.0
    assert found["f1"] == pytest.approx(f1_score(part.y, part.p.argmax(1), average="macro"), abs=1e-5)


def test_steadiness_compares_with_the_model_as_given() -> None:
    made = wandered()
    part = made.held
    found = steadiness(made.student, part, K, 0)
    w = made.student.attend(part.x)[0].detach()
    said = made.student.module(part.x).argmax(1)
    assert found["overlap"] == pytest.approx(float(distances.overlap(part.w, w, K, part.valid).mean()), abs=1e-5)
    assert found["overlap"] < 1
    p, moved = shaken(made.student.module, part.x, 0.05, 0)  # type: ignore[arg-type]
    assert found["jsd"] == pytest.approx(float(distances.jsd(w, moved, part.valid).mean()), rel=1e-2)  # its own
    own = made.student.module(part.x).softmax(1).detach()
    assert found["tvd"] == pytest.approx(float(distances.tvd(own, p).mean()), rel=1e-3)
    assert found["f1"] == pytest.approx(f1_score(part.y, said, average="macro"), abs=1e-5)


def test_the_same_seed_shakes_alike_and_a_wider_radius_shakes_more() -> None:
    made = lessons()
    first, again, other = (steadiness(made.given, made.held, K, seed) for seed in (0, 0, 1))
    assert first == again
    assert first["jsd"] != other["jsd"]
    wider = steadiness(made.given, made.held, K, 0, 0.5)
    assert wider["jsd"] > 10 * first["jsd"] > 0
    assert wider["tvd"] > first["tvd"] > 0


def test_small_numbers_are_not_rounded_away() -> None:
    made = lessons()
    found = {radius: steadiness(made.given, made.held, K, 0, radius)["jsd"] for radius in (0.02, 0.01)}
    assert found[0.01] > 0
    assert found[0.02] / found[0.01] == pytest.approx(4, rel=0.1)  # a divergence grows with the square


def test_measuring_changes_nothing() -> None:
    made = lessons()
    before = deepcopy(made.given.module.state_dict())
    made.given.module.train()
    steadiness(made.given, made.held, K, 0)
    promises(made, made.held, K, 0.05, 0)
    assert made.given.module.training
    assert all(torch.equal(before[name], value) for name, value in made.given.module.state_dict().items())
    assert all(p.grad is None for p in made.student.module.parameters())
    assert not any(part._forward_hooks for part in made.given.module.modules())


# --- what is promised -------------------------------------------------------------------------------------------------


def test_a_copy_that_has_not_moved_keeps_answers_and_words() -> None:
    made = lessons()
    found = promises(made, made.held, K, 0.05, 0)
    assert (found["gamma"], found["beta"]) == (0.0, 1.0)
    assert found["alpha"] > 0


@pytest.mark.parametrize("rows", [30, 27, 10, 3])
def test_promises_hold_for_95_percent_of_the_rows(rows: int) -> None:
    made = wandered()
    held = replace(made.held, **{name: getattr(made.held, name)[:rows] for name in ("x", "y", "valid", "p", "w")})
    found = promises(made, held, K, 0.05, 7)
    w, states = (t.detach() for t in made.student.attend(held.x))
    said = made.student.answer(states, w).softmax(1).detach()
    far = distances.tvd(said, held.p)
    same = distances.overlap(held.w, w, K, held.valid)
    rng = seeds.generator(seeds.derive(7, "promises"))
    delta = ascend(lambda d: soft_cross_entropy(made.student.answer(states, w + d), said), held.valid, 0.05, rng)
    moved = distances.tvd(said, made.student.answer(states, w + delta).softmax(1).detach())
    for name, values in (("gamma", far), ("alpha", moved)):
        assert float((values <= found[name] + 1e-4).float().mean()) >= 0.95
        assert float((values < found[name] - 1e-4).float().mean()) <= 0.95  # no looser than it must be
    assert float((same >= found["beta"] - 1e-4).float().mean()) >= 0.95
    assert float((same > found["beta"] + 1e-4).float().mean()) <= 0.95


def test_a_wider_radius_promises_less() -> None:
    made = lessons()
    narrow, wide = (promises(made, made.held, K, radius, 0)["alpha"] for radius in (0.01, 0.2))
    assert 0 < narrow < wide <= 1
