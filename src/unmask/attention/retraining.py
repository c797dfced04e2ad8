"""Training an attention model on from where it stands, under its trainer's loss.

The epoch is the one nearest to the old model and steadiest on validation rows, at an F1 of at most a point less, where
the trainer has no aim of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from sklearn.metrics import f1_score
from torch import Tensor

from unmask import devices, distances, progress, seeds
from unmask.attention.attacks import ascend
from unmask.attention.lessons import Batch, Lesson, Part, lesson, looked, protocol
from unmask.models.attending import RADIUS, Attentive, shaken
from unmask.task import explained
from unmask.training import minimize, soft_cross_entropy
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["explain", "fit", "promises", "steadiness"]

TOP = 7  # words of which overlap is counted, where the trainer names none
COST = 0.01  # of F1 that a steadier model may cost
SHARE = 0.95  # of the rows for which a promise holds


def fit(trainer: Any, model: Any, data: Dataset) -> Any:
    """Train a copy of `model` by `trainer.loss(lesson, batch)`, one value for each row; it becomes `model_`.

    A trainer that wants another epoch than the steadiest has `worth(lesson) -> (value, readings)`, the highest value
    being the best; one that names `words` finds them marked in its batches; `begin(lesson)` may prepare the student.
    """
    seed, k = trainer.recipe.seed, getattr(trainer, "k", TOP)
    words = getattr(trainer, "words", ())
    learned = lesson(model, data, min(k, data.train.valid.shape[1]), trainer.removal, words)
    student = learned.student.module.to(devices.pick(trainer.device))
    before = steadiness(learned.given, learned.held, k, seed)
    if hasattr(trainer, "begin"):
        trainer.begin(learned)

    def loss(*rows: Any) -> Tensor:
        x, y, valid, p, w, *marked, rng = rows
        batch = Batch(x, y, valid, p, w, rng, *marked)
        return trainer.loss(learned, batch).mean()  # type: ignore[no-any-return]

    def score() -> tuple[float, str]:
        if hasattr(trainer, "worth"):
            value, readings = trainer.worth(learned)
            return value, _listed(readings)
        now = steadiness(learned.student, learned.held, k, seed)
        shaken, lost = now["jsd"] / max(before["jsd"], 1e-12), max(0.0, before["f1"] - now["f1"] - COST)
        words = f"F1 {now['f1']:.3f}, overlap {now['overlap']:.2f}, JSD {shaken:.2f} of the old"
        return now["overlap"] - shaken - 10 * lost, words

    title = f"training by {trainer.method}"
    trainer.history_ = minimize(
        {trainer.method: (student, loss)}, learned.train.rows, trainer.recipe, score=score, title=title
    )
    given = learned.task.ready()
    student.to(learned.given.device)
    trainer.model_ = replace(given, module=student, call=student, name=f"{given.name} after {trainer.method}")
    trainer.task_ = replace(learned.task, model=trainer.model_)
    trainer.readings_ = {"before": before, "after": steadiness(learned.student, learned.held, k, seed)}
    return _reached(trainer, learned, k)


def _reached(trainer: Any, learned: Lesson, k: int) -> Any:
    """Read off and say what the training came to."""
    if hasattr(trainer, "worth"):
        trainer.readings_["reached"] = trainer.worth(learned)[1]
        progress.say(f"{trainer.method}: {_listed(trainer.readings_['reached'])}")
        return trainer
    kept = promises(learned, k, getattr(trainer, "radius", RADIUS), trainer.recipe.seed)
    trainer.readings_["promises"] = kept
    progress.say(f"{trainer.method}: {_told(trainer.readings_['before'], trainer.readings_['after'], kept, k)}")
    return trainer


def _listed(readings: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in readings.items())


def explain(trainer: Any, x: Inputs, target: Tensor | None = None) -> Explanation:
    """The attention of the trained copy, with its own answers."""

    def score(x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        model = trainer.task_.ready()
        return looked(protocol(model, x), model.feed(x))[1]

    return explained(trainer, x, target, score)


def steadiness(model: Attentive, part: Part, k: int, seed: int, radius: float | None = None) -> dict[str, float]:
    """F1 (macro), overlap with the old attention, entropy; JSD of attention and TVD of answers under noise."""
    raw, w = looked(model, part.x)
    other, moved = shaken(model, part.x, seed, radius)
    found = {
        "f1": torch.tensor(f1_score(part.y.numpy(), raw.argmax(1).numpy(), average="macro", zero_division=0)),
        "overlap": distances.overlap(part.w, w, k, part.valid),
        "entropy": distances.entropy(w, part.valid),
        "jsd": distances.jsd(w, moved, part.valid),
        "tvd": distances.tvd(raw.softmax(1), other.softmax(1)),
    }
    return {name: float(f"{float(value.float().mean()):.6g}") for name, value in found.items()}


def promises(lesson: Lesson, k: int, radius: float, seed: int) -> dict[str, float]:
    """What holds for 95% of the validation rows (Definition 2 of SEAT).

    `gamma`: the answer is at most so far from the old one; `beta`: at least such a share of the k heaviest words is the
    same; `alpha`: no change of attention within the radius that the attack finds moves the answer further.
    """
    part, model, rng = lesson.held, lesson.student, seeds.generator(seeds.derive(seed, "promises"))
    raw, w = looked(model, part.x)
    hit = []
    for x, valid in zip(part.x.to(model.device).split(256), part.valid.to(model.device).split(256), strict=True):
        weights, states = (t.detach() if isinstance(t, Tensor) else t for t in model.attend(x))
        said = model.answer(states, weights).softmax(1).detach()

        def harm(delta: Tensor, states: Any = states, weights: Tensor = weights, said: Tensor = said) -> Tensor:
            return soft_cross_entropy(model.answer(states, weights + delta), said)

        delta = ascend(harm, valid, radius, rng)
        hit.append(distances.tvd(said, model.answer(states, weights + delta).softmax(1).detach()))
    worst = {
        "gamma": distances.tvd(raw.softmax(1), part.p).quantile(SHARE, interpolation="higher"),
        "beta": distances.overlap(part.w, w, k, part.valid).quantile(1 - SHARE, interpolation="lower"),
        "alpha": torch.cat(hit).quantile(SHARE, interpolation="higher"),
    }
    return {name: round(float(value), 4) for name, value in worst.items()}


def _told(before: dict[str, float], after: dict[str, float], kept: dict[str, float], k: int) -> str:
    return (
        f"under noise on word vectors attention moves by JSD {after['jsd']:.4f} ({before['jsd']:.4f} before), answers "
        f"by {after['tvd']:.3f} ({before['tvd']:.3f}); F1 {after['f1']:.3f} ({before['f1']:.3f}). For 95% of rows the "
        f"answer is within {kept['gamma']:.2f} of the old one, {kept['beta']:.0%} of the top {k} words are the same, "
        f"and small changes of attention move the answer by at most {kept['alpha']:.2f}"
    )
