"""The shared vocabulary of hiding: removals, draws of subsets, differentiable draws, controls."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.errors import InputError, unknown

__all__ = ["REMOVALS", "Way", "check_removal", "default_removal"]


@dataclass(frozen=True)
class Way:
    """One way of hiding units: for which kinds of data, and what it does in one line."""

    kinds: tuple[str, ...]
    line: str


REMOVALS: dict[str, Way] = {
    "zero": Way(("table", "image"), "the value 0 (never neutral: it is the background of most images)"),
    "mean": Way(("table", "image"), "the training mean of that column or pixel"),
    "blur": Way(("image",), "the same image, blurred"),
    "noise": Way(("image",), "noise with the training mean and spread of that pixel; answers averaged over draws"),
    "marginal": Way(("table",), "values of other training rows; answers averaged over draws"),
    "pad": Way(("words", "sentences"), "the padding token in place of each word"),
    "mask-token": Way(("words", "sentences"), "the tokenizer's mask token in place of each word"),
    "delete": Way(("words", "sentences"), "the word or sentence is cut out, the text becomes shorter"),
}

_DEFAULTS = {"table": "mean", "image": "mean", "words": "pad", "sentences": "delete"}


def default_removal(kind: str, has_mask_token: bool = False) -> str:
    """The removal used for `kind` where the user names none."""
    return "mask-token" if kind == "words" and has_mask_token else _DEFAULTS[kind]


def check_removal(name: str, kind: str) -> str:
    """`name` if it can hide units of `kind`, otherwise an InputError that lists what can."""
    if name not in REMOVALS:
        raise unknown("removal", name, REMOVALS)
    if kind not in REMOVALS[name].kinds:
        fitting = ", ".join(n for n, way in REMOVALS.items() if kind in way.kinds)
        raise InputError(f"removal {name!r} cannot hide units of kind {kind!r}; for {kind} there are: {fitting}")
    return name
