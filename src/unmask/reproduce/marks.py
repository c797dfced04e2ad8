"""What a result stands on, as a mark in its key, which must last as long as the result.

The fields that FIRST names are always written: another value of theirs, by another default too, is another result. A
field that came later is left out where it has the value that everything was made with before there was such a field:
that in LATER, its default where it is not listed. So a new field with a default orphans no result. Whoever adds a field
lists it in LATER, so that another default is told apart one day; whoever adds a method lists its fields in FIRST.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

__all__ = ["FIRST", "LATER", "known", "later_fields", "mark", "settings"]

_LEARNED = "removal recipe device"
_TOLD = "removal feedback cure recipe device"
_RATIONALE = f"skew nets {_LEARNED}"
FIRST: dict[str, str] = {
    "Recipe": "epochs batch rate optimizer decay patience seed fade average",
    "Nets": "encoder hidden vectors frozen window smooth spans places sentences",
    # explainers
    "CXPlain": f"k about rows ensemble {_LEARNED}",
    "Control": "k control removal seed",
    "FastSHAP": f"k surrogate samples efficiency {_LEARNED}",
    "Gradient": "k removal",
    "GradientXInput": "k absolute removal",
    "INFD": "k samples law noise seed removal",
    "INVASE": f"k lam baseline activation {_TOLD}",
    "IntegratedGradients": "k steps removal",
    "KernelSHAP": "k samples seed removal",
    "L2X": f"k tau draw approximator activation epoch noise {_TOLD}",
    "LIME": "k samples law distance sigma alpha seed removal",
    "MEED": f"k tau draw unselected weight activation prior prior_weight {_TOLD}",
    "Mimic": "k lam mu tau draw context taught removal feedback recipe device",
    "Occlusion": "k removal",
    "REALX": "k lam tau masks removal feedback recipe device",
    "SmoothGrad": "k draws noise absolute seed removal",
    "VIBI": f"k tau beta draw legacy {_TOLD}",
    # attention
    "AttentionAT": f"k eps way {_LEARNED}",
    "CodedSEAT": f"k radius lam_stable lam_overlap form {_LEARNED}",
    "Plain": "select recipe",
    "RandomPretraining": "select recipe",
    "SEAT": f"k radius lam_stable lam_overlap lam_words eps dropout {_LEARNED}",
    "Weighting": "hidden steps held_out noise smooth floor warm normalise select recipe",
    "WordAT": f"k eps toward_words {_LEARNED}",
    # rationales
    "A2R": f"k lam explore anneal form {_RATIONALE}",
    "FR": f"k tau explore free lam {_RATIONALE}",
    "HardKuma": f"k changes step first between {_RATIONALE}",
    "MCD": f"k tau free lam {_RATIONALE}",
    "MGR": f"k generators tau free lam {_RATIONALE}",
    "RNP": f"k gradient explore tau free lam {_RATIONALE}",
    "ThreePlayer": f"k explore free lam {_RATIONALE}",
}
"""Class -> its fields when results were first kept, in the order they had then."""
LATER: dict[str, Mapping[str, Any]] = {"Recipe": {"precision": "full"}}
"""Class -> fields that came later, each with the value that everything before it was made with."""


def mark(*parts: Any) -> str:
    """Eight letters: other parts, another mark."""
    return hashlib.blake2b(_written(parts).encode(), digest_size=4).hexdigest()


def settings(thing: Any) -> dict[str, Any]:
    """What a method is made of, as far as it counts, nested settings as mappings."""
    return {name: settings(value) if is_dataclass(value) else value for name, value in known(thing).items()}


def known(thing: Any) -> dict[str, Any]:
    """The fields that count: those of FIRST in their order, then later ones that say something new."""
    there, later = {f.name: getattr(thing, f.name) for f in fields(thing) if f.init}, later_fields(thing)
    new = sorted(name for name, usual in later.items() if there[name] != usual)
    first = [name for name in _first(thing) if name in there]
    return {name: there[name] for name in (*first, *new)}


def later_fields(thing: Any) -> dict[str, Any]:
    """The fields that are not of the first ones, each with the value that is left out."""
    first, said = _first(thing), LATER.get(type(thing).__name__, {})
    return {f.name: said.get(f.name, _default(f)) for f in fields(thing) if f.init and f.name not in first}


def _first(thing: Any) -> list[str]:
    """Of a class that is not listed, all fields."""
    listed = FIRST.get(type(thing).__name__)
    return [f.name for f in fields(thing) if f.init] if listed is None else listed.split()


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _written(value: Any) -> str:
    """As `repr` has it, but of dataclasses the fields that count."""
    if is_dataclass(value):
        inside = ", ".join(f"{name}={_written(own)}" for name, own in known(value).items())
        return f"{type(value).__name__}({inside})"
    if type(value) is tuple:
        return f"({', '.join(map(_written, value))}{',' * (len(value) == 1)})"
    return repr(value)
