"""Getting ready: rows drawn, the model asked once, every explanation and control brought to the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.audit.case import Case, Subject
from unmask.errors import InputError
from unmask.judge import Rows
from unmask.masking import default_removal
from unmask.masking.controls import CONTROLS, control_scores
from unmask.masking.removals import make_removal
from unmask.models import Wrapped
from unmask.nets import read
from unmask.types import Dataset, Explainer, Explanation, Inputs, rows_of

__all__ = ["POOL", "Settings", "assemble", "control"]

POOL = {"train": 2000, "validation": 500}  # rows the judges learn from and stop on
LEAST = 10  # with fewer a judge can neither learn nor stop


@dataclass(frozen=True)
class Settings:
    """How an audit is run; stands in the report."""

    k: int
    split: str = "test"
    n: int = 500
    removal: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class _Places:
    """The rows of each split that take part."""

    audited: Tensor
    train: Tensor
    validation: Tensor


def assemble(model: Wrapped, data: Dataset, given: Mapping[str, Explainer | Explanation], settings: Settings) -> Case:
    """The case: audited rows with the model's answers, explanations and controls on them and on the judges' rows."""
    name = settings.removal or model.removal or default_removal(data.kind, model.mask_token is not None)
    removal = make_removal(name, data, mask_token=model.token(name))
    places = _places(data, settings)
    x = rows_of(data[settings.split].x, places.audited)
    full, reader = model(x), read(data, name)
    rows = {s: _judge_rows(model, reader.prepare, data, s, getattr(places, s)) for s in ("train", "validation")}
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
        train=replace(rows["train"], valid=reader.valid(rows["train"].x)),
        validation=replace(rows["validation"], valid=reader.valid(rows["validation"].x)),
    )
    if len(case.target.unique()) < 2:
        only = data.classes[int(case.target[0])]
        raise InputError(
            f"the model answers {only!r} to every audited row: there is nothing to tell apart; check model and data"
        )
    subjects = _subjects(case, given, places, settings)
    return replace(case, subjects=(*subjects, *(control(case, c, settings.k) for c in CONTROLS)))


def _places(data: Dataset, settings: Settings) -> _Places:
    """Rows drawn at random; the judges never learn from a row that is audited."""

    def drawn(split: str, most: int, label: str, taken: Tensor) -> Tensor:
        rng = seeds.generator(seeds.derive(settings.seed, label, split))
        order = torch.randperm(len(data[split]), generator=rng)
        free = order[~torch.isin(order, taken)] if split == settings.split else order
        return free[:most].sort().values

    audited = drawn(settings.split, settings.n, "rows", torch.empty(0, dtype=torch.long))
    pools = {s: drawn(s, POOL[s], "pool", audited) for s in ("train", "validation")}
    least = min(len(rows) for rows in pools.values())
    if least < LEAST:
        raise InputError(
            f"auditing {len(audited)} rows of {settings.split} leaves {least} rows for the judges, who need {LEAST}; "
            "audit fewer rows (n) or another split"
        )
    return _Places(audited, **pools)


def _judge_rows(model: Wrapped, prepare: Callable[[Inputs], Tensor], data: Dataset, split: str, index: Tensor) -> Rows:
    x = rows_of(data[split].x, index)
    return Rows(prepare(x), model(x).argmax(1), data[split].valid[index])


def _subjects(
    case: Case, given: Mapping[str, Explainer | Explanation], places: _Places, settings: Settings
) -> list[Subject]:
    subjects = []
    with progress.bar("explaining", len(given)) as step:
        for name, thing in given.items():
            if isinstance(thing, Explanation):
                subjects.append(_ready_made(case, name, thing, places, settings))
            else:
                subjects.append(_asked(case, name, thing, places))
            step(name)
    return subjects


def _ready_made(case: Case, name: str, e: Explanation, places: _Places, settings: Settings) -> Subject:
    split = case.data[settings.split]
    if len(e) != len(split):
        raise InputError(
            f"{name!r} explains {len(e)} rows, but the {settings.split} split has {len(split)}; explain all of it"
        )
    chosen = _checked(name, e.rows(places.audited), case.valid)
    other = int((chosen.target != case.target).sum())
    if other:
        raise InputError(
            f"{name!r} explains another class than the model predicts in {other} of {len(chosen)} rows; "
            "the audit is about the predicted class"
        )
    drawn = replace(chosen, x=case.x, layout=case.data.layout, classes=case.data.classes)
    return Subject(name, drawn, spare=_spare(case, e, places, settings))


def _spare(case: Case, e: Explanation, places: _Places, settings: Settings) -> Rows | None:
    """The rows of the split that are not audited, with their masks."""
    every = torch.arange(len(e))
    index = every[~torch.isin(every, places.audited)][: POOL["train"]]
    if not len(index):
        return None
    x = case.reader.prepare(rows_of(case.data[settings.split].x, index))
    valid = case.reader.valid(x)
    return Rows(x, e.target[index], valid, e.kept[index][:, : valid.shape[1]])


def _asked(case: Case, name: str, explainer: Explainer, places: _Places) -> Subject:
    started = time.perf_counter()
    explanation = _checked(name, explainer.explain(case.x, case.target), case.valid)
    seconds = (time.perf_counter() - started) / len(case.target)
    pool: dict[str, Any] = {}
    for split, rows in (("train", case.train), ("validation", case.validation)):
        x = rows_of(case.data[split].x, getattr(places, split))
        pool[split] = _checked(name, explainer.explain(x, rows.target), rows.valid)
    return Subject(name, explanation, seconds=seconds, **pool)


def _checked(name: str, e: Explanation, valid: Tensor) -> Explanation:
    """The explanation cut to the width of its rows; what does not fit them is refused."""
    width = valid.shape[1]
    if e.kept.shape[1] < width or len(e.kept) != len(valid) or e.kept.shape != e.scores.shape:
        raise InputError(f"{name!r} has scores for {e.kept.shape[1]} units, the rows have up to {width}")
    if e.kept.dtype != torch.bool or bool((e.kept[:, :width] & ~valid).any()) or bool(e.kept[:, width:].any()):
        raise InputError(f"{name!r} must mark kept units with True and False, and only units that exist in their rows")
    return replace(e, **{key: getattr(e, key)[:, :width] for key in ("scores", "kept", "valid")})


def control(case: Case, name: str, k: int | Tensor, like: Subject | None = None) -> Subject:
    """A control that keeps k units; `like` another subject, it has masks on the same rows as that one."""

    def on(label: str, valid: Tensor, target: Tensor, count: int | Tensor) -> Explanation:
        rng = seeds.generator(seeds.derive(case.seed, "control", name, label))
        scores, kept = control_scores(name, valid, count, rng)
        return Explanation(scores, kept, valid, target, {"method": name})

    started = time.perf_counter()
    own = replace(on("own", case.valid, case.target, k), x=case.x, layout=case.data.layout, classes=case.data.classes)
    seconds = (time.perf_counter() - started) / len(case.target)
    if like is not None and like.train is None:
        spare, label = like.spare, f"{name} like {like.name}"
        if spare is not None and spare.kept is not None:
            spare = replace(spare, kept=on("spare", spare.valid, spare.target, spare.kept.sum(1)).kept)
        return Subject(label, own, spare=spare)
    usual = k if isinstance(k, int) else int(k.double().mean().round())
    pool: dict[str, Any] = {
        s: on(s, getattr(case, s).valid, getattr(case, s).target, usual) for s in ("train", "validation")
    }
    return Subject(name if like is None else f"{name} like {like.name}", own, seconds=seconds, **pool)
