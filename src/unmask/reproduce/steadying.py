"""One row of SEAT's tables: an attention model, trained on as the row says, and how it stands when it is shaken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unmask import api, distances
from unmask.audit import function_of
from unmask.audit.looking import swapped
from unmask.audit.statistics import Bootstrap
from unmask.audit.subjects import Settings, assemble
from unmask.data import load
from unmask.data.vectors import glove, known
from unmask.methods import make
from unmask.models import Wrapped
from unmask.models.attacking import attacked
from unmask.models.attending import Attentive, attentive, embedding_of, looked, reach, shaken
from unmask.nets import Vocabulary
from unmask.nets.pretrained import tuned_layers
from unmask.reproduce.attentive import LONG_ROWS, PRETRAINED_ROWS, STEADY_ROWS, VANILLA, VANILLA_TRANSFORMER
from unmask.reproduce.measuring import Trial, interval, percent, some
from unmask.reproduce.tables import Scale, made
from unmask.training import soft_cross_entropy
from unmask.types import Dataset

__all__ = ["f1", "steadied"]

TOP = 7  # words of which overlap is counted, as published
AGAIN = 2  # further models that attention is compared with, each from a seed of its own
POINTS = 300  # rows that are drawn, at most
CHECKS = ("comprehensiveness", "sufficiency", "sensitivity")


@dataclass(frozen=True)
class _Look:
    """A model with what it says and looks at on the test rows."""

    model: Wrapped
    data: Dataset
    seed: int

    @cached_property
    def x(self) -> Tensor:
        return self.model.feed(self.data.test.x)  # type: ignore[no-any-return]

    @cached_property
    def valid(self) -> Tensor:
        return self.data.layout.valid(self.data.test.x)

    @cached_property
    def attention(self) -> Attentive:
        assert self.model.module is not None
        return attentive(self.model.module, self.x[:4])

    @cached_property
    def embedding(self) -> nn.Module:
        return embedding_of(self.attention.module, x=self.x)

    @cached_property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Answers and weights."""
        raw, w = looked(self.attention, self.x)
        return raw.softmax(1), w


def steadied(trial: Trial, cache: Path) -> dict[str, Any]:
    """Each metric of the table with its interval over test rows: F1, overlap and entropy in per cent, others as is."""
    started = time.perf_counter()
    look, old, readings = _trained(trial, trial.seed)
    fitted = time.perf_counter() - started
    wanted, values, points = trial.table.metrics, dict[str, list[float] | None](), []
    if "f1" in wanted:
        values["f1"] = [round(100 * v, 2) for v in f1(look.seen[0].argmax(1), look.data.test.y, trial.seed)]
    for name, found in _shares(look, old).items():
        if name in wanted:
            values[name] = percent(found, trial.seed)
    for group, names in GROUPS.items():
        if set(wanted) & set(names):
            some_rows = {name: v[~v.isnan()] for name, v in group(look, old).items() if name in wanted}
            values |= {name: interval(v, trial.seed) if len(v) else None for name, v in some_rows.items()}
    if "jsd-seeds" in wanted:
        apart = _apart(trial, look)
        values["jsd-seeds"] = interval(apart.mean(0), trial.seed)
        largest = look.seen[1].amax(1)
        points = [[round(float(m), 3), round(float(d), 4)] for m, d in zip(largest, apart.mean(0), strict=True)]
    seconds = {"fit": round(fitted, 1), "all": round(time.perf_counter() - started, 1)}
    return {
        "key": trial.key,
        "values": values,
        "readings": readings,
        "curve": [],
        "points": points[:POINTS],
        "n": len(look.data.test),
        "model accuracy": old.model.details.get("test accuracy"),
        "seconds": seconds,
    }


def _trained(trial: Trial, seed: int) -> tuple[_Look, _Look, dict[str, Any]]:
    """The row's model, the vanilla one it comes from, and what the training came to."""
    encoder = trial.row.partition("/")[2]
    data, method = _rows(trial.table.dataset, encoder, trial.scale), made(trial.row, trial.table, trial.scale, seed)
    old = _Look(_vanilla(trial.table.dataset, encoder, "additive", seed, trial.scale), data, trial.seed)
    if method[0] == "attention":
        return old, old, {}
    if method[0] == "uniform":
        uniform = _vanilla(trial.table.dataset, encoder, "uniform", seed, trial.scale)
        return _Look(uniform, data, trial.seed), old, {}
    trainer = make(method[0], trial.table.k, trial.table.removal, method[1]).fit(old.model, data)
    return _Look(trainer.model_, data, trial.seed), old, trainer.readings_


def _shares(look: _Look, old: _Look) -> dict[str, Tensor]:
    w = look.seen[1]
    return {
        "overlap": distances.overlap(old.seen[1], w, TOP, look.valid),
        "entropy": distances.entropy(w, look.valid),
    }


def _shaken(look: _Look, old: _Look) -> dict[str, Tensor]:
    """Under uniform noise on word vectors, the same for every row of a table."""
    (p, w), (raw, v) = look.seen, shaken(look.attention, look.x, look.seed, _far(old), look.valid)
    q = raw.softmax(1)
    found = {"jsd": distances.jsd(w, v, look.valid), "tvd": distances.tvd(p, q)}
    if p.shape[1] == 2:
        found |= {f"tvd-{form}": distances.tvd_legacy(p, q, form) for form in ("batch-sum", "bce")}
    return found


def _far(old: _Look) -> float:
    """How far vectors are moved: the same for the model trained on and the vanilla one it comes from."""
    return reach(old.embedding)


def _hit(look: _Look, old: _Look) -> dict[str, Tensor]:
    """Under a change of word vectors that is sought to move the answer."""
    (p, w), far = look.seen, _far(old)

    def harm(raw: Tensor, said: Tensor) -> Tensor:
        return soft_cross_entropy(raw, said.softmax(1))

    raw, v = attacked(look.attention, (look.x, look.valid), harm, far, look.seed)
    return {"jsd-attacked": distances.jsd(w, v, look.valid), "tvd-attacked": distances.tvd(p, raw.softmax(1))}


def _reworded(look: _Look, old: _Look) -> dict[str, Tensor]:
    """With one word replaced, the same for every row of a table: neighbours are those of the vanilla model.

    Of a model that reads sub-words, which has no vector for a word, neighbours are those of GloVe.
    """
    table = old.embedding
    assert isinstance(table, nn.Embedding)
    if look.x.ndim == 2:
        other = swapped(table.weight.detach(), look.x, look.valid, look.x[look.valid].unique(), look.seed)
    else:
        other = look.model.feed(_neighbours(look))
    (p, w), (raw, v) = look.seen, looked(look.attention, other)
    q = raw.softmax(1)
    found = {"jsd-words": distances.jsd(w, v, look.valid), "tvd-words": distances.tvd(p, q)}
    return found | ({"tvd-words-batch-sum": distances.tvd_legacy(p, q, "batch-sum")} if p.shape[1] == 2 else {})


def _neighbours(look: _Look) -> list[list[str]]:
    """The test rows with one word of each replaced; words that GloVe does not know have drawn vectors, as ever."""
    rows = look.data.test.x
    vocabulary = Vocabulary.build(rows, size=len(look.valid) * look.valid.shape[1])
    ids, spelled = vocabulary.encode(rows), {i: word for word, i in vocabulary.ids.items()}
    there = ids[look.valid].unique()
    words = [spelled[i] for i in there.tolist()]
    others = swapped(glove(vocabulary), ids, look.valid, there[known(words)], look.seed)
    return [[spelled[i] for i in row[: len(old)]] for row, old in zip(others.tolist(), rows, strict=True)]


def _audited(look: _Look, old: _Look) -> dict[str, Tensor]:
    attention = make("attention", TOP, "pad").fit(look.model, look.data)
    settings = Settings(k=TOP, n=len(look.data.test), removal="pad", seed=look.seed)
    case = assemble(look.model, look.data, {"it": attention}, settings)
    subject = next(s for s in case.subjects if s.name == "it")
    return {name: function_of(name)(case, subject).values for name in CHECKS}


GROUPS: dict[Callable[[_Look, _Look], dict[str, Tensor]], tuple[str, ...]] = {
    _shaken: ("jsd", "tvd", "tvd-batch-sum", "tvd-bce"),
    _hit: ("jsd-attacked", "tvd-attacked"),
    _reworded: ("jsd-words", "tvd-words", "tvd-words-batch-sum"),
    _audited: CHECKS,
}


def _apart(trial: Trial, look: _Look) -> Tensor:
    """(others, n) JSD of the row's attention to that of models from other seeds."""
    others = (_trained(trial, 1000 * (trial.seed + 1) + i)[0] for i in range(AGAIN))
    return torch.stack([distances.jsd(look.seen[1], other.seen[1], look.valid) for other in others])


def f1(answer: Tensor, y: Tensor, seed: int) -> tuple[float, float, float]:
    """Macro F1 over the classes of `y` with its interval over resampled rows."""
    classes = y.unique()
    said, true = (t[:, None] == classes for t in (answer, y))
    counted = torch.stack([said & true, said, true], 1).double()  # (n, 3, classes)

    def score(sums: Tensor) -> Tensor:
        return (2 * sums[:, 0] / (sums[:, 1] + sums[:, 2]).clamp(min=1)).mean(1)

    drawn = Bootstrap(len(y), seed).counts.double() @ counted.flatten(1)
    low, high = score(drawn.view(-1, 3, len(classes))).quantile(torch.tensor([0.025, 0.975]).double()).tolist()
    return float(score(counted.sum(0)[None])), low, high


@lru_cache(maxsize=1)
def _rows(dataset: str, encoder: str, scale: Scale) -> Dataset:
    """The same rows for every seed: what differs are the models."""
    data, pretrained = load(dataset, seed=0), tuned_layers(encoder) is not None
    learned, tested = (PRETRAINED_ROWS if pretrained else LONG_ROWS if dataset == "imdb" else STEADY_ROWS)[scale]
    if pretrained:
        data = replace(data, validation=some(data.validation, tested, 0, "validation"))
    return replace(data, train=some(data.train, learned, 0, "train"), test=some(data.test, tested, 0, "test"))


@lru_cache(maxsize=6)
def _vanilla(dataset: str, encoder: str, score: Any, seed: int, scale: Scale) -> Wrapped:
    pretrained = tuned_layers(encoder) is not None
    recipe = replace(VANILLA_TRANSFORMER if pretrained else VANILLA, seed=seed)
    vectors: Literal["glove"] | None = None if pretrained else "glove"
    return api.train_attention(_rows(dataset, encoder, scale), encoder, score=score, vectors=vectors, recipe=recipe)
