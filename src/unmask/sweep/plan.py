"""A plan for a sweep, as it stands in its file: what is measured on what, checked before any work."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from unmask.audit import CHECKS, chosen
from unmask.cli.sources import is_file
from unmask.data import DATASETS, named
from unmask.errors import InputError, unknown
from unmask.masking import REMOVALS
from unmask.masking.controls import CONTROLS
from unmask.methods import METHODS, MODELS

__all__ = ["DataPart", "MethodPart", "ModelPart", "Plan", "Range", "Tune", "as_plan", "read_plan"]

SPLITS = ("train", "validation", "test")
TOLD = 3  # faults of a plan that are told at a time
STRICT = {"extra": "forbid"}
KINDS_OF_SPACE = ("Range", "list[any]")  # how the checker names what a space may be


@dataclass(frozen=True)
class DataPart:
    """A data set by name, or a file and what its columns are."""

    __pydantic_config__ = STRICT
    data: str
    k: int | None = None
    label: str | None = None
    text: str | None = None
    kind: str | None = None
    drop: tuple[str, ...] = ()
    parts: str | None = None


@dataclass(frozen=True)
class ModelPart:
    """What is explained, and on which of the data sets; on all where none is named."""

    __pydantic_config__ = STRICT
    model: str = "reference"
    outputs: str | None = None
    takes: str | None = None
    on: tuple[str, ...] = ()


@dataclass(frozen=True)
class MethodPart:
    """A method with its settings, under a name of its own where it stands in the plan twice."""

    __pydantic_config__ = STRICT
    method: str
    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tune: bool = True


@dataclass(frozen=True)
class Range:
    """From where to where a number is searched; `log`: by factors. Settings that are whole numbers stay whole."""

    __pydantic_config__ = STRICT
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise InputError(f"low and high must be finite, got {self.low:g} and {self.high:g}")
        if not self.low < self.high or (self.log and self.low <= 0):
            positive = ", above 0 where log is true" if self.log else ""
            raise InputError(f"low must be below high{positive}, got {self.low:g} and {self.high:g}")

    @property
    def whole(self) -> bool:
        """Whether both ends are whole numbers."""
        return self.low == int(self.low) and self.high == int(self.high)


@dataclass(frozen=True)
class Tune:
    """How settings are searched: `trials` of each, `at_once` drawn together, for the best `aim` on validation rows."""

    __pydantic_config__ = STRICT
    trials: int = 20
    at_once: int = 4
    aim: str = "fs-m"
    space: dict[str, dict[str, Range | list[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.trials < 1 or self.at_once < 1:
            raise InputError(f"trials and at_once must be at least 1, got {self.trials} and {self.at_once}")
        if self.aim not in CHECKS:
            raise unknown("check to aim at", self.aim, CHECKS)
        if CHECKS[self.aim].better == "none":
            raise InputError(f"{self.aim} has no better direction, so it cannot be aimed at; try fs-m")


@dataclass(frozen=True)
class Plan:
    """Everything a sweep measures."""

    __pydantic_config__ = STRICT
    datasets: tuple[DataPart, ...]
    methods: tuple[MethodPart, ...]
    models: tuple[ModelPart, ...] = (ModelPart(),)
    seeds: tuple[int, ...] = (0,)
    checks: tuple[str, ...] = ("default",)
    k: int | None = None
    rows: int = 500
    split: str = "test"
    removal: str | None = None
    verdicts: bool = True
    tune: Tune | None = None

    def groups(self) -> list[tuple[str, ...]]:
        """The groups of checks: each is measured by tasks of its own."""
        return [tuple(name.strip() for name in group.split(",")) for group in self.checks]


def read_plan(path: Path) -> Plan:
    """The plan in a file; whatever is wrong with it is one sentence."""
    start = "unmask sweep --example prints one to start from"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read the plan {path}: {error.strerror or error}; {start}") from error
    except ValueError as error:  # no TOML, or no text
        raise InputError(f"{path} is not valid TOML ({error}); {start}") from error
    try:
        plan = as_plan(raw)
        _check(plan, path.parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return plan


def as_plan(raw: Mapping[str, Any]) -> Plan:
    """Plain values as a plan: names alone stand for parts, a number of seeds for the first ones."""
    from pydantic import TypeAdapter, ValidationError

    given = dict(raw)
    for key, first in (("datasets", "data"), ("models", "model"), ("methods", "method")):
        if isinstance(given.get(key), list):
            given[key] = [{first: item} if isinstance(item, str) else item for item in given[key]]
    if type(seeds := given.get("seeds")) is int:
        given["seeds"] = list(range(seeds))
    try:
        return TypeAdapter(Plan).validate_python(given)
    except ValidationError as error:
        faults = [_sentence(fault) for fault in error.errors()]
        more = f"; and {len(faults) - TOLD} more" if len(faults) > TOLD else ""
        raise InputError("; ".join(faults[:TOLD]) + more) from error


def _sentence(fault: Mapping[str, Any]) -> str:
    place = [part for part in fault["loc"] if part not in KINDS_OF_SPACE]
    *above, last = place or ("",)
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    if fault["type"].startswith("missing"):
        return f"{where} is missing"
    if fault["type"] == "unexpected_keyword_argument":
        owners = {"datasets": DataPart, "models": ModelPart, "methods": MethodPart, "tune": Tune}
        owner = owners.get(str(above[0]), Plan) if above else Plan
        owner = Range if place[:2] == ["tune", "space"] else owner
        return str(unknown(f"setting {where}:", str(last), [f.name for f in fields(owner)]))
    if fault["type"] in ("tuple_type", "list_type"):
        between = ", or a range {low = 0.1, high = 1.0}" if place[:2] == ["tune", "space"] else ""
        return f"{where} must be a list in square brackets{between}, got {fault['input']!r}"
    said = str(fault["msg"]).removeprefix("Value error, ")
    return f"{where}: {said[:1].lower()}{said[1:]}" + (
        "" if "got" in said or "?" in said else f", got {fault['input']!r}"
    )


def _check(plan: Plan, home: Path) -> None:
    """Refuse what cannot be run, names first."""
    for part in plan.datasets:
        _check_data(part, plan, home)
    for method in plan.methods:
        if method.method not in {**METHODS, **MODELS, "auto": None}:
            raise unknown("method", method.method, ["auto", *METHODS, *MODELS])
        if (method.name or method.method) in CONTROLS:
            raise InputError(
                f"{method.name or method.method} is the name of a control that every audit has (the column null); "
                "leave it out, or give it another name"
            )
    for group in plan.groups():
        chosen(group)
    for what, given, known in (("split", plan.split, SPLITS), ("removal", plan.removal, REMOVALS)):
        if given is not None and given not in known:
            raise unknown(what, given, known)
    if plan.rows < 2:
        raise InputError(f"rows, drawn for each audit, must be at least 2, got {plan.rows}")
    if plan.tune and plan.split == "validation":
        raise InputError(
            "settings are searched on validation rows, so split must be test or train; leave it out for test"
        )
    _check_counts(plan)
    _check_names(plan)
    _check_models(plan)


def _check_data(part: DataPart, plan: Plan, home: Path) -> None:
    if not is_file(part.data, home) or not (home / part.data).exists():
        if is_file(part.data, home):
            raise InputError(f"there is no file {home / part.data}; paths are seen from the folder of the plan")
        if part.data.partition(":")[0] not in DATASETS:
            raise unknown("data set or file", part.data, DATASETS)
        named(part.data)
    k = plan.k if part.k is None else part.k
    if k is None or k < 1:
        raise InputError(f"say how many units of {part.data} are kept, k = 4 for all or for one data set; got {k}")


def _check_counts(plan: Plan) -> None:
    for what, given in (("datasets", plan.datasets), ("models", plan.models), ("methods", plan.methods)):
        if not given:
            raise InputError(f"{what} is empty; name at least one")
    if not plan.seeds or not plan.checks:
        raise InputError("seeds and checks must name at least one each")
    once = {
        "datasets": [part.data for part in plan.datasets],
        "methods": [part.name or part.method for part in plan.methods],
        "seeds": plan.seeds,
        "checks": [",".join(group) for group in plan.groups()],
    }
    for what, names in once.items():
        if twice := _twice(names):
            raise InputError(f"{what} has {twice!r} twice; leave one out" + ", or give it a name" * (what == "methods"))


def _check_models(plan: Plan) -> None:
    """A model stands once for each data set, for its name is all that tells its results from others; one at least."""
    wanted = any(method.method not in MODELS for method in plan.methods)
    for data in plan.datasets:
        there = [model.model for model in plan.models if not model.on or data.data in model.on]
        if wanted and not there:
            raise InputError(f"no model is for {data.data}: every model is `on` other data; add one, or leave it out")
        if twice := _twice(there):
            raise InputError(f"models has {twice!r} twice for {data.data}; leave one out, or say `on` which data it is")


def _check_names(plan: Plan) -> None:
    """What parts of a plan say about other parts."""
    there = {part.data for part in plan.datasets}
    for model in plan.models:
        for name in model.on:
            if name not in there:
                raise unknown(f"data set for {model.model}", name, there)
    methods = {part.method for part in plan.methods}
    for name in plan.tune.space if plan.tune else ():
        if name not in methods:
            raise unknown("method in tune.space", name, methods)


def _twice(names: Iterable[Any]) -> Any:
    return next((name for name, count in Counter(names).items() if count > 1), None)
