"""Training an attention model on from where it stands, under its trainer's loss.

The epoch is the one nearest to the old model and steadiest on validation rows, more than a point of F1 counting
heavily against it, where the trainer has no aim of its own. What is told of steadiness in the end is read on test rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from unmask import devices, progress
from unmask.attention.lessons import Batch, Lesson, Part, copied, lesson, looked, part, protocol
from unmask.attention.steadiness import promises, steadiness
from unmask.errors import InputError
from unmask.models.attending import RADIUS, embedding_of, reach
from unmask.task import Task, explained
from unmask.training import minimize
from unmask.types import Dataset, Explanation, Inputs

__all__ = ["build", "explain", "fit"]

TOP = 7  # words of which overlap is counted, where the trainer names none
COST = 0.01  # of F1 that a steadier model may cost


def fit(trainer: Any, model: Any, data: Dataset) -> Any:
    """Train a copy of `model` by `trainer.loss(lesson, batch)`, one value for each row; it becomes `model_`.

    A trainer that wants another epoch than the steadiest has `worth(lesson) -> (value, readings)` on validation rows,
    the highest value being the best; one that names `words` finds them marked in its batches; `begin(lesson)` may
    prepare the student.
    """
    if not len(data.test):
        raise InputError(f"{data.name} has no test rows, on which is read what the training came to")
    seed, k = trainer.recipe.seed, getattr(trainer, "k", TOP)
    words = getattr(trainer, "words", ())
    learned = lesson(model, data, min(k, data.train.valid.shape[1]), trainer.removal, words)
    student = learned.student.module.to(devices.pick(trainer.device))
    far, right = learned.reach, list[float]()  # one ruler for both; F1 on validation rows by epoch
    before = steadiness(learned.given, learned.held, k, seed, far)
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
        now = steadiness(learned.student, learned.held, k, seed, far)
        right.append(now["f1"])
        shaken, lost = now["jsd"] / max(before["jsd"], 1e-12), max(0.0, before["f1"] - now["f1"] - COST)
        words = f"F1 {now['f1']:.3f}, overlap {now['overlap']:.2f}, JSD {shaken:.2f} of the old"
        return now["overlap"] - shaken - 10 * lost, words

    title = f"training by {trainer.method}"
    trainer.history_ = minimize(
        {trainer.method: (student, loss)}, learned.train.rows, trainer.recipe, score=score, title=title
    )
    _hold(trainer, learned.task, student.to(learned.given.device), far)
    if right and right[trainer.history_.best] < before["f1"] - 2 * COST:
        told = f"F1 on validation rows fell from {before['f1']:.3f} to {right[trainer.history_.best]:.3f}"
        progress.warn(f"{trainer.method}: {told}; try a lower rate or fewer epochs")
    unseen = part(learned.task, learned.given, data.test)
    both = {"before": learned.given, "after": learned.student}
    trainer.readings_ = {name: steadiness(net, unseen, k, seed, far) for name, net in both.items()}
    return _reached(trainer, learned, unseen, k)


def _hold(trainer: Any, task: Task, student: nn.Module, far: float) -> None:
    """What is trained, as a model and as what the trainer explains; noise on it is that of the model as given."""
    given, trainer.net_ = task.ready(), student
    name, details = f"{given.name} after {trainer.method}", {**given.details, "noise": far}
    trainer.model_ = replace(given, module=student, call=student, name=name, details=details)
    trainer.task_ = replace(task, model=trainer.model_)


def build(trainer: Any, task: Task) -> None:
    """A copy of the model that was trained on, for the weights that come from disk."""
    module = copied(task.ready()).module
    assert module is not None
    _hold(trainer, task, module, reach(embedding_of(module)))


def _reached(trainer: Any, learned: Lesson, unseen: Part, k: int) -> Any:
    """Read off and say what the training came to: on test rows, or, where the trainer has an aim of its own, what it
    reached of that on the validation rows that chose the epoch."""
    if hasattr(trainer, "worth"):
        trainer.readings_["reached"] = trainer.worth(learned)[1]
        progress.say(f"{trainer.method}: {_listed(trainer.readings_['reached'])}")
        return trainer
    old, new = trainer.readings_["before"], trainer.readings_["after"]
    radius = getattr(trainer, "withstood", RADIUS)
    kept = {**promises(learned, unseen, k, radius, trainer.recipe.seed), "radius": radius}
    trainer.readings_["promises"] = kept
    progress.say(f"{trainer.method}: {_told(old, new, kept, k)}")
    return trainer


def _listed(readings: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in readings.items())


def explain(trainer: Any, x: Inputs, target: Tensor | None = None) -> Explanation:
    """The attention of the trained copy, with its own answers."""

    def score(x: Inputs, valid: Tensor, target: Tensor) -> Tensor:
        model = trainer.task_.ready()
        return looked(protocol(model, x), model.feed(x))[1]

    return explained(trainer, x, target, score)


def _told(before: dict[str, float], after: dict[str, float], kept: dict[str, float], k: int) -> str:
    return (
        f"under noise on word vectors attention moves by JSD {after['jsd']:.4f} ({before['jsd']:.4f} before), answers "
        f"by {after['tvd']:.3f} ({before['tvd']:.3f}); F1 {after['f1']:.3f} ({before['f1']:.3f}). For 95% of rows the "
        f"answer is within {kept['gamma']:.2f} of the old one, {kept['beta']:.0%} of the top {k} words are the same, "
        f"and changes of attention by {kept['radius']:.2g} move the answer by at most {kept['alpha']:.2f}"
    )
