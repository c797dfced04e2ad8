"""What models that explain themselves share: the rows they learn from, and the loop.

Such a model is a dataclass with `k` (units of each row, or a share), `nets`, `skew`, `recipe` and `device` beside its
own settings. Fitted by `fit(data)`, it has `net_`, the whole model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.errors import InputError
from unmask.masking import default_removal, subsets
from unmask.masking.removals import make_removal
from unmask.nets import read
from unmask.nets.pieces import pieced
from unmask.rationales.building import Batch, worded
from unmask.rationales.choosing import number
from unmask.task import Task
from unmask.training import Loss, Recipe, minimize, soft_cross_entropy
from unmask.types import Dataset, Split

__all__ = ["Lesson", "begin", "learn", "opening", "reinforced", "sized", "start"]

BATCH = 200  # rows of a batch where nobody says how many
SMALLEST = 16  # of one that is made smaller


@dataclass(frozen=True)
class Lesson:
    """Prepared rows and labels to learn from, and those an epoch is chosen on."""

    task: Task
    train: tuple[Tensor, Tensor, Tensor]  # x, y, valid
    held: tuple[Tensor, Tensor, Tensor]


def begin(own: Any, data: Dataset) -> Lesson:
    """Read the rows; a rationale of more units than a row can have is refused."""
    if own.nets.pretrained and not data.layout.is_text:
        raise InputError(f"the encoder {own.nets.encoder} reads texts, {data.name} holds rows of kind {data.kind}")
    reader, d = pieced(read(data)) if own.nets.pretrained else read(data), data.train.valid.shape[1]
    if isinstance(own.k, int) and own.k > d:
        raise InputError(f"k must be at most {d} (a row of {data.name} has {d} units), got {own.k}")
    if own.nets.vectors == "glove" and not data.layout.is_text:
        raise InputError(f"vectors='glove' is for texts, {data.name} holds rows of kind {data.kind}")
    hide = make_removal(own.removal or default_removal(data.kind, False), data)

    def part(split: Split) -> tuple[Tensor, Tensor, Tensor]:
        x = reader.prepare(split.x)
        return x, torch.as_tensor(split.y), reader.valid(x)

    return Lesson(Task(reader, hide, tuple(data.classes), None, data.frames), part(data.train), part(data.validation))


def start(own: Any, data: Dataset) -> Lesson:
    """Read the rows, build the model with the vectors asked for, and skew its predictor where that is asked for.

    The model asks by its `skew`, a data set by its name (`reviews:skew=10`); what the model asks for counts first.
    """
    lesson = begin(own, data)
    own.build(lesson.task)
    worded(own, own.net_)
    epochs = own.skew or data.notes.get("skew", 0)
    if epochs:
        _skew(own, lesson, opening(data.train, lesson.train[2]), epochs)
    return lesson


def opening(split: Split, valid: Tensor) -> Tensor:
    """(n, d) 1 for the words of the first sentence where sentences are known, else for the first unit of each row."""
    if split.sentence_of is None:
        return nn.functional.one_hot(valid.int().argmax(1), valid.shape[1]).float()
    owner, width = split.sentence_of[:, : valid.shape[1]], valid.shape[1]
    return nn.functional.pad(owner == 0, (0, width - owner.shape[1])).float() * valid


def learn(
    own: Any,
    lesson: Lesson,
    players: Mapping[str, tuple[nn.Module, Callable[[Batch], Tensor]]],
    rates: Mapping[str, float] | None = None,
) -> None:
    """Step the players on each batch; the epoch with the best accuracy on validation rows is kept.

    Where the number is free, what is over the budget counts as errors do. `rates`: of players the recipe does not name.
    """
    own.curve_ = []
    known = own.recipe.rate if isinstance(own.recipe.rate, Mapping) else {}
    recipe = sized(own.recipe if rates is None else replace(own.recipe, rate={**known, **rates}), len(lesson.train[0]))

    def score() -> tuple[float, str]:
        found = _readings(own, lesson.held)
        own.curve_.append(found)
        words = f"{found['modal']:.0%} of the rationales begin at unit {found['place']:.0f}"
        return found["accuracy"] - found["over"], words

    def loss_of(loss: Callable[[Batch], Tensor]) -> Loss:
        return lambda x, y, valid, rng: loss(Batch(x, y, valid, rng))

    losses = {name: (module, loss_of(loss)) for name, (module, loss) in players.items()}
    history = minimize(losses, lesson.train, recipe, score=score, title=f"training {own.method}")
    own.readings_ = own.curve_[history.best]
    own.task_ = lesson.task


def sized(recipe: Recipe, rows: int) -> Recipe:
    """The recipe; the usual batch is smaller where rows are few, so that an epoch has some twenty steps."""
    return replace(recipe, batch=max(SMALLEST, rows // 20)) if recipe.batch == BATCH and rows < 20 * BATCH else recipe


def reinforced(log_prob: Tensor, reward: Tensor, past: deque[float]) -> Tensor:
    """REINFORCE: rewards above the mean of those `past` (one for each batch) make their draw more likely."""
    base = sum(past) / len(past)
    past.append(float(reward.mean()))
    return -(log_prob * (reward.detach() - base)).mean()


def _skew(own: Any, lesson: Lesson, first: Tensor, epochs: int) -> None:
    """Let the teller learn from the opening alone: interlocking, planted (Yu et al. 2021)."""
    teller, (x, y, _) = own.net_.teller, lesson.train

    def loss(x: Tensor, y: Tensor, first: Tensor, rng: torch.Generator) -> Tensor:
        return soft_cross_entropy(teller(x, first), y).mean()

    recipe = Recipe(epochs, 50, 1e-3, seed=seeds.derive(own.recipe.seed, "skew"), precision=own.recipe.precision)
    minimize({"predictor": (teller, loss)}, (x, y, first), recipe, title="skewing the predictor")


def _readings(own: Any, part: tuple[Tensor, Tensor, Tensor]) -> dict[str, float]:
    """Accuracy on the rationale, how often the first unit is in it, and the place where most rationales begin."""
    x, y, valid = part
    logits, _, amount = own.net_.answers(x)
    kept, length = amount > 0, valid.sum(1).clamp(min=1)
    share = float((kept.sum(1) / length).mean())
    places = subsets.beginnings(kept)
    return {
        "accuracy": float((logits.argmax(1) == y).float().mean()),
        "first": float(subsets.holds_first(kept, valid).float().mean()),
        "modal": float(places.max()),
        "place": float(places.argmax()) + 1,
        "kept": share,
        "over": max(0.0, share - float((number(own.k, valid) / length).mean())),
    }
