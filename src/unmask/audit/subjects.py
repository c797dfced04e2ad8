"""Getting ready: rows drawn, the model asked once, every explanation and control brought to the same rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.audit import chosen, lighter
from unmask.audit.case import Case, Pool, Subject, digest
from unmask.errors import InputError
from unmask.judge import Rows
from unmask.masking.controls import CONTROLS, control_scores
from unmask.models import Wrapped, counted
from unmask.nets import Reader, read
from unmask.task import hiding
from unmask.types import Dataset, Explainer, Explanation, Inputs, Model, Split, rows_of

__all__ = ["Settings", "assemble", "control"]

FEW = 10  # audited rows that five parts are made of, two rows each
LEAST = 10  # with fewer a judge can neither learn nor stop


@dataclass(frozen=True)
class Settings:
    """How an audit is run; stands in the report."""

    k: int
    split: str = "test"
    n: int = 500
    removal: str | None = None
    seed: int = 0
    checks: tuple[str, ...] = chosen("default")
    pool: int = 2000  # rows to learn from, at most; a quarter as many to stop on
    budget: float | None = None  # seconds from `begun` on; checks that do not fit are left out
    begun: float = 0.0
    light: tuple[str, ...] | None = None  # those of the checks that are run lightly; None: as by default

    def __post_init__(self) -> None:
        if self.light is None:
            usual = self.checks == chosen("default")
            object.__setattr__(self, "light", lighter() if usual else ())
        if self.pool < 4 * LEAST:
            raise InputError(f"pool, the rows judges learn from, must be at least {4 * LEAST}, got {self.pool}")

    @property
    def pools(self) -> dict[str, int]:
        """The most rows of each split that judges and approximators see."""
        return {"train": self.pool, "validation": self.pool // 4}


@dataclass(frozen=True)
class _Places:
    """The rows of each split that take part."""

    audited: Tensor
    train: Tensor
    validation: Tensor


def assemble(model: Wrapped, data: Dataset, given: Mapping[str, Explainer | Explanation], settings: Settings) -> Case:
    """The case: audited rows with the model's answers, explanations and controls on them and on the judges' rows."""
    removal = hiding(model, data, settings.removal)
    places = _places(data, settings)
    x = rows_of(data[settings.split].x, places.audited)
    full, reader = model(x), read(data, removal.name)
    pools = {s: _pool(model, data, s, getattr(places, s)) for s in settings.pools}
    case = Case(
        model=model,
        data=data,
        removal=removal,
        reader=reader,
        x=x,
        valid=data.layout.valid(x),
        target=full.argmax(1),
        full=full,
        k=settings.k,
        seed=settings.seed,
        train=_judge_rows(reader, pools["train"]),
        validation=_judge_rows(reader, pools["validation"]),
        pools=pools,
        labels=torch.as_tensor(data[settings.split].y)[places.audited],
        relevant=_marked(data[settings.split], places.audited, data.layout.valid(x)),
    )
    if len(case.target.unique()) < 2:
        only = data.classes[int(case.target[0])]
        raise InputError(
            f"the model answers {only!r} to every audited row: there is nothing to tell apart; check model and data"
        )
    subjects = _subjects(case, given, places, settings)
    return replace(case, subjects=(*subjects, *(control(case, c, settings.k) for c in CONTROLS)))


def _marked(split: Split, index: Tensor, valid: Tensor) -> Tensor | None:
    """What people marked in those rows, at the width of the rows."""
    return None if split.relevant is None else split.relevant[index][:, : valid.shape[1]].bool() & valid


def _places(data: Dataset, settings: Settings) -> _Places:
    """Rows drawn at random; the judges never learn from a row that is audited."""

    def drawn(split: str, most: int, label: str, taken: Tensor) -> Tensor:
        rng = seeds.generator(seeds.derive(settings.seed, label, split))
        order = torch.randperm(len(data[split]), generator=rng)
        free = order[~torch.isin(order, taken)] if split == settings.split else order
        return free[:most].sort().values

    audited = drawn(settings.split, settings.n, "rows", torch.empty(0, dtype=torch.long))
    pools = {s: drawn(s, most, "pool", audited) for s, most in settings.pools.items()}
    fewest = min(pools, key=lambda split: len(pools[split]))
    if len(pools[fewest]) < LEAST:
        way = "audit fewer rows (n) or another split" if fewest == settings.split else "give the split more rows"
        raise InputError(
            f"auditing {len(audited)} rows of {settings.split} leaves {len(pools[fewest])} rows of {fewest} for the "
            f"judges, who need {LEAST}; {way}"
        )
    return _Places(audited, **pools)


def _pool(model: Wrapped, data: Dataset, split: str, index: Tensor) -> Pool:
    rows = data[split].rows(index)
    return Pool(rows, model(rows.x))


def _judge_rows(reader: Reader, pool: Pool) -> Rows:
    x = reader.prepare(pool.split.x)
    return Rows(x, pool.full.argmax(1), reader.valid(x))


def _subjects(
    case: Case, given: Mapping[str, Explainer | Explanation], places: _Places, settings: Settings
) -> list[Subject]:
    subjects = []
    with progress.bar("explaining", len(given)) as step:
        for name, thing in given.items():
            if isinstance(thing, Explanation):
                subjects.append(_ready_made(case, name, thing, places, settings))
            else:
                subjects.append(_asked(case, name, thing))
            step(name)
    return subjects


def _ready_made(case: Case, name: str, e: Explanation, places: _Places, settings: Settings) -> Subject:
    split = case.data[settings.split]
    if len(e) != len(split):
        raise InputError(
            f"{name!r} explains {len(e)} rows, but the {settings.split} split has {len(split)}; explain all of it"
        )
    if len(places.audited) < FEW:
        raise InputError(
            f"{name!r} came ready-made and is judged on the audited rows alone: {FEW} or more are needed, got "
            f"{len(places.audited)}"
        )
    own = _checked(name, e.rows(places.audited), case.valid)
    other = int((own.target != case.target).sum())
    if other:
        raise InputError(
            f"{name!r} explains another class than the model predicts in {other} of {len(own)} rows; "
            "the audit is about the predicted class"
        )
    return Subject(name, _drawable(case, own), **_spare(case, e, places, settings))


def _spare(case: Case, e: Explanation, places: _Places, settings: Settings) -> dict[str, Any]:
    """Rows of the split that are not audited, with their masks, and as they came: drawn, for a split may be sorted."""
    every = torch.arange(len(e))
    others = every[~torch.isin(every, places.audited)]
    drawn = torch.randperm(len(others), generator=seeds.generator(seeds.derive(settings.seed, "spare")))
    index = others[drawn[: settings.pool]].sort().values
    if not len(index):
        return {}
    came = rows_of(case.data[settings.split].x, index)
    x = case.reader.prepare(came)
    valid = case.reader.valid(x)
    return {"spare": Rows(x, e.target[index], valid, e.kept[index][:, : valid.shape[1]]), "spare_x": came}


def _asked(case: Case, name: str, explainer: Explainer) -> Subject:
    started = time.perf_counter()
    with counted() as tally:
        explanation = _checked(name, explainer.explain(case.x, case.target), case.valid)
    seconds, calls = (time.perf_counter() - started) / len(case.target), tally.rows / len(case.target)
    pool: dict[str, Any] = {}
    for split, rows in (("train", case.train), ("validation", case.validation)):
        pool[split] = _checked(name, explainer.explain(case.pools[split].split.x, rows.target), rows.valid)
    return Subject(name, _drawable(case, explanation), seconds=seconds, calls=calls, explainer=explainer, **pool)


def _drawable(case: Case, e: Explanation) -> Explanation:
    """The explanation with its rows, whether or not the explainer gave them with it."""
    return replace(e, x=case.x, layout=case.data.layout, classes=case.data.classes)


def _checked(name: str, e: Explanation, valid: Tensor) -> Explanation:
    """The explanation cut to the width of its rows; what does not fit them is refused."""
    width = valid.shape[1]
    if e.kept.shape[1] < width or len(e.kept) != len(valid) or e.kept.shape != e.scores.shape:
        raise InputError(f"{name!r} has scores for {e.kept.shape[1]} units, the rows have up to {width}")
    if e.kept.dtype != torch.bool or bool((e.kept[:, :width] & ~valid).any()) or bool(e.kept[:, width:].any()):
        raise InputError(f"{name!r} must mark kept units with True and False, and only units that exist in their rows")
    return replace(e, **{key: getattr(e, key)[:, :width] for key in ("scores", "kept", "valid")})


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A control that can be asked again: `random` draws afresh for other rows, model, removal or seed."""

    name: str
    k: int | Tensor
    case: Case
    model: str = ""
    removal: str | None = None
    seed: int = 0

    def fit(self, model: Model, data: Dataset) -> _Drawn:
        return replace(self, model=model.name)

    def clone(self) -> _Drawn:
        return self

    def _count(self, rows: int) -> int | Tensor:
        """Units to keep: those of each audited row; of others, whose number nobody knows, as many as usual."""
        if isinstance(self.k, int) or len(self.k) == rows:
            return self.k
        return int(self.k.double().mean().round())

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        valid = self.case.data.layout.valid(x)
        rows = digest(x)
        asked = (self.model, rows, self.removal or "", self.seed)
        rng = seeds.generator(seeds.derive(self.case.seed, "control", self.name, "asked", *asked))
        scores, kept = control_scores(self.name, valid, self._count(len(valid)), rng)
        return Explanation(scores, kept, valid, self.case.target if target is None else target)


def control(case: Case, name: str, k: int | Tensor, like: Subject | None = None) -> Subject:
    """A control that keeps k units; `like` another subject, it has masks on the same rows as that one."""

    def on(label: str, valid: Tensor, target: Tensor, count: int | Tensor) -> Explanation:
        rng = seeds.generator(seeds.derive(case.seed, "control", name, label))
        scores, kept = control_scores(name, valid, count, rng)
        return Explanation(scores, kept, valid, target, {"method": name})

    started = time.perf_counter()
    own = _drawable(case, on("own", case.valid, case.target, k))
    seconds = (time.perf_counter() - started) / len(case.target)
    askable = _Drawn(name, k, case)
    if like is not None and like.train is None:
        spare, label = like.spare, f"{name} like {like.name}"
        if spare is not None and spare.kept is not None:
            spare = replace(spare, kept=on("spare", spare.valid, spare.target, spare.kept.sum(1)).kept)
        return Subject(label, own, spare=spare, spare_x=like.spare_x, explainer=askable)
    usual = k if isinstance(k, int) else int(k.double().mean().round())
    pool: dict[str, Any] = {
        s: on(s, rows.valid, rows.target, usual if like is None else getattr(like, s).kept.sum(1))
        for s, rows in (("train", case.train), ("validation", case.validation))
    }
    label = name if like is None else f"{name} like {like.name}"
    return Subject(label, own, seconds=seconds, calls=0.0, explainer=askable, **pool)
