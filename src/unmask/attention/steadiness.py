"""How steady an attention model is on some rows, and what it promises of 95% of them."""

from __future__ import annotations

from functools import partial

import torch
from sklearn.metrics import f1_score

from unmask import distances, seeds
from unmask.attention.attacks import misled
from unmask.attention.lessons import Lesson, Part
from unmask.models.attending import Attentive, looked, shaken
from unmask.training import soft_cross_entropy

__all__ = ["promises", "steadiness"]

SHARE = 0.95  # of the rows for which a promise holds


def steadiness(model: Attentive, part: Part, k: int, seed: int, radius: float | None = None) -> dict[str, float]:
    """F1 (macro), overlap with the old attention, entropy; JSD of attention and TVD of answers under noise."""
    raw, w = looked(model, part.x)
    other, moved = shaken(model, part.x, seed, radius, part.valid)
    found = {
        "f1": torch.tensor(f1_score(part.y.numpy(), raw.argmax(1).numpy(), average="macro", zero_division=0)),
        "overlap": distances.overlap(part.w, w, k, part.valid),
        "entropy": distances.entropy(w, part.valid),
        "jsd": distances.jsd(w, moved, part.valid),
        "tvd": distances.tvd(raw.softmax(1), other.softmax(1)),
    }
    return {name: float(f"{float(value.float().mean()):.6g}") for name, value in found.items()}


def promises(lesson: Lesson, part: Part, k: int, radius: float, seed: int) -> dict[str, float]:
    """What holds of the student for 95% of some rows (Definition 2 of SEAT).

    `gamma`: the answer is at most so far from the old one; `beta`: at least such a share of the k heaviest words is the
    same; `alpha`: no change of attention within the radius that the attack finds moves the answer further.
    """
    model, rng = lesson.student, seeds.generator(seeds.derive(seed, "promises"))
    raw, w = looked(model, part.x)
    hit = []
    for x, valid in zip(part.x.to(model.device).split(256), part.valid.to(model.device).split(256), strict=True):
        seen = model.attend(x)
        said = model.answer(seen[1], seen[0]).softmax(1).detach()
        led = misled(model, seen, partial(soft_cross_entropy, target=said), valid, radius, rng)
        hit.append(distances.tvd(said, led.softmax(1).detach()))
    worst = {
        "gamma": distances.tvd(raw.softmax(1), part.p).quantile(SHARE, interpolation="higher"),
        "beta": distances.overlap(part.w, w, k, part.valid).quantile(1 - SHARE, interpolation="lower"),
        "alpha": torch.cat(hit).quantile(SHARE, interpolation="higher"),
    }
    return {name: round(float(value), 4) for name, value in worst.items()}
