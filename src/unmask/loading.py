"""Explainers from disk, as `saving` wrote them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from unmask.errors import InputError
from unmask.masking.removals import BlurFill, Cut, FixedFill
from unmask.methods import METHODS, MODELS, make
from unmask.models import Wrapped, bind, wrap
from unmask.nets import Reader, Vocabulary
from unmask.nets.bodies import Nets
from unmask.nets.pieces import Pieces
from unmask.saving import FORMAT, KEYS, MAY, parts_of
from unmask.task import Task, settings_of
from unmask.training import Recipe
from unmask.types import Dataset, Layout, Removal, Split
from unmask.writing import read_json

__all__ = ["load"]


def load(path: str | Path, model: Any = None, data: Dataset | None = None) -> Any:
    """The explainer saved in `path`, ready to explain.

    Methods that call the model need `model` again, and `data` where that model takes data frames.
    """
    folder = Path(path)
    facts = read_json(folder / "explainer.json", "a saved explainer")
    _check(facts, folder)
    tensors = _stored(folder / "tensors.safetensors")
    settings = dict(facts["settings"])
    if "recipe" in settings:
        settings["recipe"] = Recipe(**settings["recipe"])
    if "nets" in settings:
        settings["nets"] = Nets(**settings["nets"])
    explainer = replace(make(facts["method"], settings["k"]), **settings)
    task = _task(facts, tensors, model if model is None or data is None else bind(model, data))
    task = replace(task, frames=None if data is None else data.frames)
    if hasattr(explainer, "build"):
        explainer.build(task)
    if not hasattr(explainer, "task_"):  # what trains the model itself on has a task of its own
        explainer.task_ = task
    if facts["readings"]:
        explainer.readings_ = facts["readings"]
    if facts.get("seconds") is not None:
        explainer.seconds_ = float(facts["seconds"])
    for name, part in parts_of(explainer).items():
        own = {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}
        try:
            part.load_state_dict(own)
        except RuntimeError as error:  # the model that it was trained from is the user's to bring
            raise InputError(f"{folder} was saved for another model; pass the one it was fitted to") from error
        part.eval()
    return explainer


def _stored(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read {path} ({error}); save the explainer again") from error


def _check(facts: Any, folder: Path) -> None:
    version = facts.get("format") if isinstance(facts, dict) else None
    if version != FORMAT:
        raise InputError(f"{folder} has format {version!r}, this version reads format {FORMAT}; save it again")
    odd = sorted(set(facts) - MAY ^ KEYS)
    if not odd and facts["method"] not in {**METHODS, **MODELS}:
        odd = [str(facts["method"])]
    if not odd:
        odd = sorted(set(facts["settings"]) ^ set(settings_of(make(facts["method"], 1))))
    if odd:
        raise InputError(f"{folder} holds what this version does not know ({', '.join(odd)}); upgrade unmask")


def _task(facts: dict[str, Any], tensors: dict[str, Tensor], model: Any) -> Task:
    kind, *rest = (facts["layout"][key] for key in ("kind", "shape", "owner", "units"))
    shape, owner, units = (tuple(part) for part in rest)
    says = tuple((int(variable), str(name)) for variable, name in facts["layout"].get("says", ()))
    layout = Layout(kind, shape, owner, units, says)
    words = facts["vocabulary"]  # None: no texts; a name: the sub-words of that package
    vocabulary = Vocabulary(tuple(words)) if isinstance(words, list) else Pieces() if words else None
    reader = Reader(layout, tensors["task.centre"], tensors["task.scale"], vocabulary)
    classes = tuple(facts["classes"])
    wrapped = None if model is None else _model(model, layout, classes)
    return Task(reader, _removal(facts["removal"], layout, tensors), classes, wrapped)


def _model(model: Any, layout: Layout, classes: tuple[str, ...]) -> Wrapped:
    """The model, its answers in the order of the saved classes; how it reads data frames stays as it is."""
    wrapped = wrap(model)
    if wrapped.takes == "frame":
        return replace(wrapped, classes=len(classes))
    nothing = Split([], torch.empty(0, dtype=torch.long), torch.empty(0, 0, dtype=torch.bool))
    return bind(wrapped, Dataset("the saved explainer", layout, classes, nothing, nothing, nothing))


def _removal(facts: dict[str, Any], layout: Layout, tensors: dict[str, Tensor]) -> Removal:
    if layout.is_text:
        return Cut(facts["name"], facts["token"])
    if facts["sigma"] is not None:
        return BlurFill(facts["name"], layout, facts["sigma"])
    return FixedFill(facts["name"], layout, tensors.get("task.fills", torch.empty(0)))
