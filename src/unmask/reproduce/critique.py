"""The claims of the lecture ("'Interpretable' Machine Learning", Lipton & Chai), each as a table that can be run.

Every limit is a convention with a reason: what is called dependent, disagreeing or moved must show in what people see,
the units that are kept. Whether a claim holds is read from the whole interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from unmask.reproduce.claims.disagreeing import PAIRS
from unmask.reproduce.claims.weights import GLOBAL
from unmask.reproduce.tables import Bar, Table

__all__ = ["TABLES"]

OTHER = Bar("below", 90.0)  # one kept unit in ten is another one: a reader would see another explanation
NOISE = Bar("above", 0.0)  # more than two runs of the same settings differ by
SURVIVES = Bar("above", 50.0)  # of the way from random masks to the same one, as the verdict of an audit has it
HALF = Bar("above", 50.0)  # half of what was kept is gone
MOVED = Bar("above", 10.0)  # one unit in ten moved by the fooling, beyond what further training moves
EQUAL = Bar("below", 2.0)  # points of accuracy: less is not noticed
KEPT, BROKEN, MISSED = Bar("below", 1.0), Bar("above", 50.0), Bar("above", 1.0)  # per cent of an axiom's violation
AS_WEIGHTS = Bar("above", 0.9)  # the same order but for neighbours

SALIENCY = ("gradient", "gradient-x-input", "integrated-gradients", "smoothgrad")
METHODS = (*SALIENCY, "occlusion", "lime", "kernel-shap")


FORMS = ("location", "top-k")
FOOLED = ("gradient", "smoothgrad", "integrated-gradients", "occlusion")


def _each(rows: Iterable[str], bars: Mapping[str, Bar]) -> dict[str, Mapping[str, Bar]]:
    return dict.fromkeys(rows, bars)


def _table(
    name: str,
    dataset: str,
    k: int,
    metrics: str,
    bars: Mapping[str, Mapping[str, Bar]],
    claim: str,
    note: str = "",
) -> Table:
    """Rows are those that the claim is about."""
    removal = "pad" if name == "deceptive-attention" else "mean"
    rows = tuple(bars)
    return Table(name, dataset, "critique", k, removal, tuple(metrics.split()), rows, {}, note, claim=claim, bars=bars)


def _lime() -> list[Table]:
    draws = _each(("samples=100", "samples=300", "samples=1000", "samples=5000"), {"overlap": OTHER})
    widths = _each(("width=0.1", "width=0.25", "width=0.5", "width=1.5", "width=3"), {"overlap": OTHER, "drop": NOISE})
    first = "LIME depends on its draws: two runs of the same settings keep other units."
    second = "LIME depends on the width of its kernel, which nobody argues for: another width keeps other units."
    note = "Widths in roots of the number of columns; 0.75 is the reference package's, and what others are held to."
    return [
        _table("lime-samples", "tumours", 6, "overlap correlation", draws, first, "Units are the 30 columns."),
        _table("lime-kernel", "tumours", 6, "overlap drop correlation", widths, second, note),
    ]


def _baselines() -> list[Table]:
    backgrounds = ("mean and zero", "mean and marginal", "zero and marginal", "marginal again")
    starts = ("zero and mean", "zero and noise", "zero and blur", "mean and noise")
    first = "Shapley values depend on what absent means: another background keeps other columns."
    second = "Integrated gradients depend on the baseline: black, mean, noise and blur give different maps."
    note = "Exact Shapley values of 8 columns. Marginal is a mean over eight training rows; again, over eight others."
    return [
        _table(
            "shap-background",
            "compas",
            3,
            "overlap correlation",
            _each(backgrounds, {"overlap": OTHER}),
            first,
            note,
        ),
        *(
            _table("ig-baseline", dataset, k, "overlap correlation", _each(starts, {"overlap": OTHER}), second)
            for dataset, k in (("digits", 8), ("mnist-3-8", 25))
        ),
    ]


def _ignored() -> list[Table]:
    rows = ("outstanding", "guided-backprop", *SALIENCY, "occlusion", "lime", "kernel-shap")
    bars = _each(rows, {"survives": SURVIVES})
    claim = "A map can ignore the model: it stays when all weights are drawn anew."
    note = (
        "Survives is 0 for what random masks share and 100 for the very same mask; correlation is that of |scores|, "
        "high for whatever is multiplied by an input that is mostly 0. "
        "Outstanding, the units farthest from their mean, never asks the model: it shows what ignoring looks like."
    )
    sets = (("digits", 8), ("mnist-3-8", 25))
    return [_table("model-ignored", name, k, "overlap survives correlation", bars, claim, note) for name, k in sets]


def _disagreement() -> Table:
    metrics = (
        "feature-agreement rank-agreement sign-agreement signed-rank-agreement rank-correlation pairwise-rank-agreement"
    )
    bars = _each(PAIRS, {"feature-agreement": OTHER, "rank-correlation": Bar("below", 0.9)})
    claim = "Methods disagree with one another about the same rows of the same model."
    note = (
        "The six methods of Krishna et al. 2022 on a perceptron for COMPAS, units in the order of |score|, the five "
        "best. Here the label is arrest within two years and there are 8 columns; no figures of the paper are at hand. "
        "By chance two methods have 62.5% of the five best in common. LIME and Shapley values explain the "
        "probability, the others its logarithm."
    )
    return _table("disagreement", "compas", 5, metrics, bars, claim, note)


def _deceived() -> Table:
    lies = {"mass": KEPT, "accuracy-lost": EQUAL, "without": Bar("below", 75.0)}
    bars = {"honest": {}, "lam=0.1": lies, "lam=1": lies}
    claim = "Attention can be taught to deceive: it avoids the words that decide, which are used as before."
    note = (
        "First sentences of generated reviews in which he or she, put in, decides the class. Mass is the attention on "
        "these two words; without is the accuracy when they are taken out, 50 by chance. The paper's figure beside "
        "lam=0.1 is that of BERT on occupations."
    )
    published = {"lam=0.1": {"accuracy": 97.2, "mass": 0.007}}
    metrics = "accuracy mass without accuracy-lost"
    found = _table("deceptive-attention", "reviews:aspect=appearance", 3, metrics, bars, claim, note)
    return replace(found, published=published)


def _moved() -> list[Table]:
    attacked = _each((*SALIENCY, "occlusion"), {"fragility": HALF})
    first = "Saliency is fragile: a change that nobody sees keeps the answer and moves half of what is kept."
    note = "Per cent of the kept units lost, at most, when values move by 5% of the range of all pixels."
    trained = {f"{m}+{form}": {"moved": MOVED, "accuracy-lost": EQUAL} for form in FORMS for m in FOOLED}
    second = "A model can be trained on to move its saliency at equal accuracy."
    told = (
        "The model is trained on against its gradient map alone: to point to the units it used least (location), or "
        "away from those it used most (top-k); other methods show how far that carries over. Overlap with the map of "
        "the first model, and that of a control which was trained on as long without fooling."
    )
    metrics = "overlap control moved accuracy-lost"
    return [
        *(_table("fragile", n, k, "fragility", attacked, first, note) for n, k in (("digits", 8), ("mnist-3-8", 25))),
        _table("moved-saliency", "digits", 8, metrics, trained, second, told),
        _table("moved-saliency", "compas", 3, metrics, trained, second, told),
    ]


def _axioms() -> Table:
    every = {"sensitivity-broken": KEPT, "invariance-broken": KEPT, "completeness-gap": KEPT}
    local = {"sensitivity-broken": BROKEN, "completeness-gap": MISSED}
    bars = {
        "integrated-gradients": every,
        "kernel-shap": every,
        "gradient": local,
        "gradient-x-input": local,
        "guided-backprop": {"sensitivity-broken": BROKEN, "invariance-broken": MISSED},
    }
    claim = "Integrated gradients keep their axioms (Shapley values do as well), gradients break some."
    note = (
        "Sensitivity: per cent of units that matter and get nothing, in a model that saturates. Invariance: per cent "
        "of the scores that change when the same function is written differently. Completeness: per cent of "
        "F(x) - F(baseline) that the scores miss. For gradients the claim is that they break what stands here."
    )
    return _table("axioms", "tumours", 6, " ".join(every), bars, claim, note)


def _weights() -> Table:
    bars = _each((*METHODS, *GLOBAL), {"rank-correlation": AS_WEIGHTS})
    claim = "Averaged over rows, a method ranks the columns of a linear model as its weights do."
    note = (
        "Logistic regression; weights for columns in standard deviations. Local methods are means of |score| over rows."
        " Gradients are taken in the columns' own units, in which a weight says little about its importance."
    )
    return _table("linear-weights", "tumours", 6, "rank-correlation", bars, claim, note)


TABLES = (*_lime(), *_baselines(), *_ignored(), _disagreement(), _deceived(), *_moved(), _axioms(), _weights())
