"""All methods by name, from the rooms that hold them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from unmask import attention, explainers, rationales
from unmask.entries import Method
from unmask.errors import InputError, unknown

__all__ = ["METHODS", "MODELS", "make"]

METHODS: dict[str, Method] = {**explainers.METHODS, **attention.METHODS}
"""Explainers of a model, `fit(model, data)`."""
MODELS: dict[str, Method] = rationales.MODELS
"""Models that explain themselves, `fit(data)`."""
ROOMS = {"explainers": explainers.METHODS, "attention": attention.METHODS, "rationales": MODELS}


PARTS = ("recipe", "nets")  # settings that hold settings


def make(name: str, k: int | float, removal: str | None = None, settings: Mapping[str, Any] | None = None) -> Any:
    """An unfitted explainer, or a model that explains itself, by its name.

    `settings` are other fields of its class; a mapping for `recipe` or `nets` is laid over the method's own.
    """
    known = {**METHODS, **MODELS}
    if name not in known:
        raise unknown("method", name, known)
    room = next(room for room, table in ROOMS.items() if name in table)
    module, _, attribute = known[name].path.partition(":")
    cls = getattr(importlib.import_module(f"unmask.{room}.{module}"), attribute)
    return _set(name, cls(k=k, removal=removal, **known[name].settings), settings or {})


def _set(name: str, explainer: Any, settings: Mapping[str, Any]) -> Any:
    _check(f"setting of {name}", settings, {f.name for f in fields(explainer) if f.init} - {"k", "removal"})
    whole = dict(settings)
    for part in PARTS:
        own: Any = settings.get(part)
        given: Any = getattr(explainer, part, None)
        if isinstance(own, Mapping):
            _check(f"setting in the {part} of {name}", own, {f.name for f in fields(given)} - {"seed"})
            _compare(own, given)
            whole[part] = replace(given, **own)
        elif own is not None and not isinstance(own, type(given)):
            raise InputError(f"{part} of {name} holds settings, such as {part}.{fields(given)[0].name}; got {own!r}")
    try:
        return replace(explainer, **whole)
    except TypeError as error:  # a word where a number is compared
        raise InputError(f"a setting of {name} is of the wrong kind ({error})") from error


def _compare(settings: Mapping[str, Any], own: Any) -> None:
    """Refuse a word for a number, or a number for yes and no; a number is a number, whole or not."""
    for name, value in settings.items():
        usual = getattr(own, name)
        kind = next((kind for kind in (bool, str, (int, float)) if isinstance(usual, kind)), None)
        wrong = isinstance(value, bool) != isinstance(usual, bool) or (kind is not None and not isinstance(value, kind))
        if kind is not None and value is not None and wrong and not isinstance(value, Mapping):
            raise InputError(f"{name} is {usual!r} where nobody says otherwise, so {value!r} is no value for it")


def _check(what: str, names: Mapping[str, Any], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise unknown(what, name, known)
