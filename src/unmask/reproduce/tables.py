"""What a table is: a data set as the paper uses it, rows of methods, and the published figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from unmask.reproduce.attentive import trained, trained_on
from unmask.reproduce.choices import rationale
from unmask.training import Recipe

__all__ = [
    "CLAIM_RECIPE",
    "CLAIM_ROWS",
    "CONTROLS",
    "FORMS",
    "QUICK",
    "SCALES",
    "SHARES",
    "Bar",
    "Form",
    "Kind",
    "Scale",
    "Table",
    "made",
    "named",
]

Scale = Literal["quick", "default", "paper"]
Kind = Literal["words", "image", "attention", "steady", "rationale", "critique"]
SCALES: tuple[Scale, ...] = ("quick", "default", "paper")
CONTROLS = ("random", "first-k", "last-k")
SHARES = (
    "fs-m",
    "fu-m",
    "fs-a",
    "fu-a",
    "approximator",
    "reading",
    "f1",
    "overlap",
    "entropy",
    "accuracy",
    "precision",
    "recall",
    "x1",
    "locked",
    "iou-f1",
    "auprc",
    "mass",
    "constants",
    "without",
    "control",
    "feature-agreement",
    "rank-agreement",
    "sign-agreement",
    "signed-rank-agreement",
    "pairwise-rank-agreement",
    "sensitivity-broken",
)
"""Metrics that are shares of rows or of units, 0 to 100 per cent."""
SIGNED = ("gradient", "gradient-x-input", "gradient-x-input-abs", "integrated-gradients")


@dataclass(frozen=True)
class Bar:
    """What a claim predicts of a number: that it is surely above, or surely below, a limit."""

    way: Literal["above", "below"]
    limit: float

    def reading(self, low: float, high: float) -> Literal["holds", "does not", "open"]:
        """What the interval of a number says of the claim; open where the limit lies inside."""
        if self.way == "above":
            return "holds" if low > self.limit else "does not" if high < self.limit else "open"
        return "holds" if high < self.limit else "does not" if low > self.limit else "open"


@dataclass(frozen=True)
class Table:
    """`published` holds row -> metric -> figure, in the paper's unit; rows without figures are ours.

    A table may stand for a `claim`, in plain words; `bars` holds row -> metric -> what the claim predicts of it.
    """

    name: str
    dataset: str
    kind: Kind
    k: int
    removal: str
    metrics: tuple[str, ...]
    rows: tuple[str, ...]
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    note: str = ""
    small: bool = False  # a small set of small pictures: a perceptron is explained, and rows are seen more often
    claim: str = ""
    bars: Mapping[str, Mapping[str, Bar]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Form:
    """A row's method with the settings that make it, and those that differ by kind of data."""

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)  # on small pictures, besides

    def at(self, kind: Kind, small: bool = False) -> dict[str, Any]:
        own = self.words if kind == "words" else self.image
        return {**self.settings, **own, **(self.small if small else {})}


_NO_AIL = {"unselected": "none"}
_PLAIN = {"prior": False}  # as published: the released code for texts has no prior
_WEAK = {"weight": 1e-3}  # the paper's weight of the adversary for pixels, cross-entropy form
_USUAL = {"weight": 1.0}  # as for texts; on small pictures, which the paper does not have, and as a row of its own
_MANY = {"samples": 4096}  # for 784 pixels: with about as many draws as unknowns the noise is fitted too

FORMS: dict[str, Form] = {
    **{name: Form(name) for name in (*CONTROLS, *SIGNED, "occlusion", "lime")},
    **{name: Form(name, image=_MANY) for name in ("kernel-shap", "infd")},
    "cxplain": Form("cxplain", {"about": "data"}),  # as published: it is told the true labels
    **{name: Form(name) for name in ("invase", "real-x", "fastshap", "vibi", "smoothgrad", "auto")},
    "l2x": Form("l2x", words={"approximator": "bag"}),
    "l2x+feedback": Form("l2x", {"feedback": True}),
    "l2x+feedback+by-model": Form("l2x", {"feedback": True, "epoch": "model"}),
    "l2x+frozen-noise": Form("l2x", {"noise": "frozen"}, words={"approximator": "bag"}),
    "l2x+feedback+pretraining": Form("l2x", {"feedback": True, "cure": "pretraining"}),
    "l2x+feedback+weighting": Form("l2x", {"feedback": True, "cure": "weighting"}),
    "l2x+feedback+weighting-shown": Form("l2x", {"feedback": True, "cure": "weighting-shown"}),
    "meed": Form("meed", words=_PLAIN, image=_WEAK, small=_USUAL),
    "meed+weight=1": Form("meed", _USUAL, words=_PLAIN),
    "meed+prior": Form("meed", {"prior": True}, image=_WEAK),
    "meed+released": Form("meed", {"draw": "noisy-logit-max", "prior": "released"}, image=_WEAK),
    "meed+swd": Form("meed", {"unselected": "swd"}),
    "meed+noisy-logit-max": Form("meed", {"draw": "noisy-logit-max"}, image=_WEAK),
    "meed+swd+noisy-logit-max": Form("meed", {"draw": "noisy-logit-max", "unselected": "swd"}),
    "meed-without-output": Form("meed", {"feedback": False}, words=_PLAIN, image=_WEAK),
    "meed-without-ail": Form("meed", _NO_AIL, words=_PLAIN),
    "meed-without-prior": Form("meed", _PLAIN, image=_WEAK),
    "mimic": Form("mimic"),
    "mimic+mu=0": Form("mimic", {"mu": 0.0}),
    "mimic+mu=3": Form("mimic", {"mu": 3.0}),
    "mimic+lam=0": Form("mimic", {"lam": 0.0}),
    "mimic+mu-alone": Form("l2x", {"feedback": True, "cure": "pretraining", "draw": "soft-topk"}),
    "mimic+full": Form("mimic", {"taught": "full"}),
    "mimic+random-masks": Form("mimic", {"taught": "random"}),
    "mimic+gumbel-topk": Form("mimic", {"draw": "gumbel-topk"}),
    "mimic+k-hot": Form("mimic", {"draw": "k-hot"}),
    "mimic-without-output": Form("mimic", {"feedback": False}),
    "mimic-without-context": Form("mimic", {"context": 0}),
}

_CURED = "l2x+feedback+pretraining"
QUICK = (
    *CONTROLS,
    "gradient",
    "gradient-x-input",
    "gradient-x-input-abs",
    "l2x",
    "l2x+feedback",
    _CURED,
    "meed",
    "mimic",
)

CLAIM_ROWS: dict[Scale, int] = {"quick": 60, "default": 300, "paper": 1000}
"""Test rows that are explained for a claim about explanations, at most."""
CLAIM_RECIPE = Recipe(epochs=30, batch=64, rate=1e-3, patience=5)

LEARNED = ("l2x", "meed", "vibi", "mimic", "invase", "real-x")
_EPOCHS: dict[tuple[str, Scale], int] = {
    ("words", "quick"): 8,
    ("words", "default"): 6,
    ("words", "paper"): 20,
    ("image", "quick"): 6,
    ("image", "default"): 12,
    ("image", "paper"): 12,
}


def named(row: str, table: Table) -> str:
    """The first row that is made in the same way: what two names have in common is measured once."""
    kind, small = table.kind, table.small
    if row not in FORMS or kind not in ("words", "image"):
        return row
    own = FORMS[row].method, FORMS[row].at(kind, small)
    return next(name for name, form in FORMS.items() if (form.method, form.at(kind, small)) == own)


def made(row: str, table: Table, scale: Scale, seed: int) -> tuple[str, dict[str, Any]]:
    """The method of a row and its settings, its recipe among them where it learns; validation rows choose the epoch."""
    if table.kind == "attention":
        return trained(row, scale, seed)
    if table.kind == "steady":
        return trained_on(row, scale, seed)
    if table.kind == "critique":
        return table.name, {}
    if table.kind == "rationale":
        return rationale(row, table.dataset, scale, seed) if row not in CONTROLS else (row, {})
    form = FORMS[row]
    settings = form.at(table.kind, table.small)
    if form.method in LEARNED:
        settings["recipe"] = replace(_recipe(form.method, table, scale), seed=seed)
    return form.method, settings


def _recipe(method: str, table: Table, scale: Scale) -> Recipe:
    """As MEED and L2X were trained: texts with RMSprop in batches of 32, pixels with Adadelta in batches of 128.

    Mimic, which is ours, has Adam and on pixels batches of 64; on a small set everybody has Adam and batches of 32. On
    texts the few epochs end in noise: running means of the parameters are kept. A quick run has smaller batches.
    """
    if table.small:
        return Recipe(epochs=60, batch=32, rate=1e-3, patience=12)
    epochs, few = _EPOCHS[table.kind, scale], scale == "quick"  # few rows: steps are many by small batches
    if method == "mimic" and table.kind == "words":  # it learns faster than others, and an epoch takes it longer
        return Recipe(epochs=6 if few else min(epochs, 3), batch=16 if few else 32, rate=1e-3, average=0.99)
    if method == "mimic":
        return Recipe(epochs=epochs, batch=64, rate=1e-3)
    if table.kind == "words":
        return Recipe(epochs=epochs, batch=16 if few else 32, rate=1e-3, optimizer="rmsprop", average=0.99)
    return Recipe(epochs=epochs, batch=32 if few else 128, rate=1.0, optimizer="adadelta")
