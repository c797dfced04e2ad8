"""From what the user names on the command line to a model and data that fit together."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from unmask import api
from unmask.batches import out_of_memory
from unmask.cli.options import ENDINGS, KINDS, OUTPUTS, TAKES
from unmask.data import DATASETS, load, read
from unmask.errors import InputError, OutsideError, UnmaskError, unknown
from unmask.models import Wrapped, bind, wrap
from unmask.types import Dataset, rows_of

__all__ = ["Source", "UserTask", "check_source", "data_of", "find", "is_file", "task_of"]


@dataclass(frozen=True)
class Source:
    """What the user said of model and data."""

    model: str
    data: str
    label: str | None = None
    text: str | None = None
    kind: str | None = None
    outputs: str | None = None
    takes: str | None = None
    seed: int = 0
    drop: tuple[str, ...] = ()
    parts: str | None = None


@dataclass(frozen=True)
class UserTask:
    """The model and the data of one command."""

    model: Wrapped
    data: Dataset
    seed: int


def check_source(source: Source) -> None:
    """Refuse unknown names, before anything is read."""
    known = {"outputs": OUTPUTS, "takes": TAKES, "kind": KINDS}
    for option, names in known.items():
        given = getattr(source, option)
        if given is not None and given not in names:
            raise unknown(f"--{option}", given, names)
    if source.label is not None and source.label in (source.text, *source.drop):
        raise InputError(f"the label {source.label!r} is also given as --text or --drop; name another column there")
    if source.model != "reference":
        _check_model(source.model)
        return
    for option in ("outputs", "takes"):
        if getattr(source, option) is not None:
            raise InputError(f"--{option} is for a model of your own; leave it out with --model reference")


def _check_model(where: str) -> None:
    path = Path(where)
    if not _is_path(where):
        _parts(where)
    elif not path.exists():
        raise InputError(f"there is no file {where} for --model; check the path")
    elif path.is_file() and path.suffix.lower() != ".onnx":
        raise InputError(
            f"--model {where} is a file of another kind: expected .onnx, a folder, or 'package.module:name' "
            "with a function that loads it"
        )


def is_file(data: str, home: Path = Path()) -> bool:
    """Whether `data` is a file: its ending says so, or it is there and no data set has its name."""
    return data.lower().endswith(ENDINGS) or (data.partition(":")[0] not in DATASETS and (home / data).exists())


def data_of(source: Source) -> Dataset:
    """The data set of that name, or the file."""
    name = source.data
    if is_file(name):
        kind = cast("Any", source.kind)
        return read(Path(name), source.label, source.text, kind, source.seed, source.drop, source.parts)
    if name.partition(":")[0] not in DATASETS:
        raise unknown("data set or file", name.partition(":")[0], DATASETS)
    for option in ("label", "text", "kind", "drop", "parts"):
        if getattr(source, option):
            raise InputError(f"--{option} is for files; {name} is a data set that knows it: leave it out")
    return load(name, seed=source.seed)


def task_of(source: Source, data: Dataset) -> UserTask:
    """Find the model and see on two rows that it fits the data; the reference model is trained here."""
    if source.model == "reference":
        return UserTask(api.train_model(data, seed=source.seed), data, source.seed)
    given = Path(source.model) if _is_path(source.model) else find(source.model)
    found = wrap(given, takes=cast("Any", source.takes), outputs=cast("Any", source.outputs))
    model = _guarded(bind(found, data), source.model)
    model(rows_of(data.test.x, slice(0, 2)))
    return UserTask(model, data, source.seed)


def find(where: str) -> Any:
    """The object at package.module:name; a function without arguments is called."""
    module_name, attribute = _parts(where)
    if "" not in sys.path:
        sys.path.insert(0, "")
    module = _tried(lambda: importlib.import_module(module_name), f"cannot import {module_name!r} for --model")
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise unknown(f"name in {module_name} for --model", attribute, names)
    found = getattr(module, attribute)
    return _tried(found, f"{where} for --model failed") if _is_factory(found) else found


def _is_path(where: str) -> bool:
    """A path rather than a name: an ONNX file, or a folder that holds a model."""
    return where.lower().endswith(".onnx") or Path(where).exists()


def _parts(where: str) -> tuple[str, str]:
    module, colon, attribute = where.partition(":")
    if not colon or not attribute.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(
            f"--model must be 'package.module:name', an ONNX file, a Hugging Face folder or 'reference', got {where!r}"
        )
    return module, attribute


def _is_factory(found: Any) -> bool:
    """A function that can be called without arguments to get the model."""
    is_model = hasattr(found, "predict_proba") or hasattr(found, "forward") or isinstance(found, Wrapped)
    if isinstance(found, type) or is_model or not callable(found):
        return False
    try:
        wanted = inspect.signature(found).parameters.values()
    except ValueError:  # compiled functions do not tell
        return False
    return not any(p.default is p.empty and p.kind != p.VAR_KEYWORD for p in wanted)


def _guarded(model: Wrapped, where: str) -> Wrapped:
    """The same model, whose own errors name it; running out of memory passes, for smaller batches are tried then."""
    call = model.call
    return replace(model, call=lambda rows: _tried(lambda: call(rows), f"the model {where} failed"))


def _tried(work: Callable[[], Any], what: str) -> Any:
    """`work()`; an error in the user's own code, or its `sys.exit`, becomes one sentence."""
    try:
        return work()
    except (Exception, SystemExit) as error:
        if isinstance(error, UnmaskError) or (isinstance(error, Exception) and out_of_memory(error)):
            raise
        raise OutsideError(f"{what}: {type(error).__name__}: {error}") from error
