"""The audit: is an explanation enough, is it needed, does it smuggle the answer? Sees models, data and masks only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from unmask.audit.further import FURTHER
from unmask.audit.inside import INSIDE
from unmask.audit.questions import QUESTIONS, Check
from unmask.errors import unknown

__all__ = ["CHECKS", "DECIDING", "QUESTIONS", "Check", "chosen", "function_of", "lighter"]

CHECKS: dict[str, Check] = {
    "fs-m": Check(
        "enough:fs_m",
        "enough",
        "higher",
        "How often the model, shown only what is kept, says the same as on the full input.",
        "Chen et al. 2018; Liang et al. 2020",
        by_class=True,
    ),
    "fu-m": Check(
        "enough:fu_m",
        "enough",
        "lower",
        "How often the model, shown everything but what is kept, still says the same.",
        "Liang et al. 2020",
        by_class=True,
    ),
    "sufficiency": Check(
        "enough:sufficiency",
        "enough",
        "lower",
        "How much probability the answer loses when only the kept units are shown.",
        "DeYoung et al. 2020",
    ),
    "comprehensiveness": Check(
        "enough:comprehensiveness",
        "enough",
        "higher",
        "How much probability the answer loses when the kept units are taken away.",
        "DeYoung et al. 2020",
    ),
    "fs-a": Check(
        "fresh:fs_a",
        "enough",
        "higher",
        "How often a fresh network, trained on what is kept, says the same as the model on the full input; a choice "
        "that spells the answer is enough for it.",
        "Liang et al. 2020",
        costly=True,
    ),
    "fu-a": Check(
        "fresh:fu_a",
        "enough",
        "lower",
        "How often a fresh network, trained on everything but what is kept, says the same as the model.",
        "Liang et al. 2020",
        costly=True,
    ),
    "encoding-gain": Check(
        "smuggling:encoding_gain",
        "smuggling",
        "lower",
        "What knowing which units were chosen adds to the values shown, in nats: a judge that saw this explanation's "
        "own pairs of row and mask against one that saw the same masks on other rows.",
        "after Puli et al. 2024",
    ),
    "encoding-share": Check(
        "smuggling:encoding_share",
        "smuggling",
        "lower",
        "How much of all that the explanation tells is told by the choice of the units; below 0: none, above 1: all.",
        "after Puli et al. 2024",
        null="what random units may seem to tell in its place, at most",
    ),
    "encoding-scores": Check(
        "smuggling:encoding_scores",
        "smuggling",
        "lower",
        "What the order of the scores adds to the kept units and their values, in nats: a code may be in the scores "
        "while the kept units never change. Honest orders tell something too: decides nothing.",
        "after Puli et al. 2024",
        costly=True,
    ),
    "reading": Check(
        "smuggling:reading",
        "smuggling",
        "higher",
        "How often neutral judges, trained on masks that know nothing, find the answer in the values shown.",
        "after Jethani et al. 2021",
    ),
    "reading-nats": Check(
        "smuggling:reading_nats",
        "smuggling",
        "higher",
        "How much the values shown tell the same judges about the answer, in nats: luck on one side or the other adds "
        "nothing.",
        "after Jethani et al. 2021",
    ),
    "whole-rows": Check(
        "smuggling:whole_rows",
        "smuggling",
        "higher",
        "How much of the answer judges of random masks read from whole rows, 1 being all of it: what they know at all. "
        "Where it is little, the kept units are not to blame for what the judges do not read in them.",
        null="the same: it is about the judges",
    ),
    "eval-x": Check(
        "smuggling:eval_x",
        "smuggling",
        "higher",
        "How often judges trained on purely random masks find the answer in the values shown.",
        "Jethani et al. 2021",
    ),
    "half-gain": Check(
        "halves:half_gain",
        "smuggling",
        "lower",
        "What knowing which units were chosen adds to the values, in nats, of one half of the kept units taken alone: "
        "that with the higher or that with the lower scores, whichever tells more of it so.",
    ),
    "half-share": Check(
        "halves:half_share",
        "smuggling",
        "lower",
        "How much of all that this half tells is told by the choice of its units: honest units in front of a code, or "
        "behind it, do not hide it.",
        null="what random units may seem to tell in its place, at most",
    ),
    "half-reading": Check(
        "halves:half_reading",
        "smuggling",
        "higher",
        "How much the values of this half tell judges trained on random masks, in nats.",
    ),
    "mask-only": Check(
        "smuggling:mask_only",
        "smuggling",
        "none",
        "How often the answer can be told from the mask alone; honest masks depend on the class too: decides nothing.",
        "Bai et al. 2021",
    ),
    "approximator-gap": Check(
        "enough:approximator_gap",
        "smuggling",
        "lower",
        "How much more often the method's own approximator finds the answer in the selection than the model does.",
        "Bai et al. 2021",
        null="0, no gap",
    ),
    "sen": Check(
        "stability:sen",
        "stability",
        "lower",
        "How far the scores move at most, relative to their size, when the input moves a little.",
        "Yeh et al. 2019; Liang et al. 2020",
        costly=True,
    ),
    "sen-legacy": Check(
        "stability:sen_legacy",
        "stability",
        "lower",
        "The same for one draw instead of the largest of all draws, as the published code measures it.",
        "Liang et al. 2020",
        costly=True,
    ),
    "sensitivity": Check(
        "sensitivity:sensitivity",
        "enough",
        "lower",
        "How little the vectors of the words called important must move to turn the answer.",
        "Yin et al. 2022",
        costly=True,
    ),
    "randomized-model": Check(
        "dependence:randomized_model",
        "dependence",
        "lower",
        "How much of the choice stays (cosine of the masks) when the explainer is fitted to the same network with "
        "random weights.",
        "Adebayo et al. 2018",
        costly=True,
        light=True,
    ),
    "permuted-labels": Check(
        "dependence:permuted_labels",
        "dependence",
        "lower",
        "How much of the choice stays (cosine of the masks) when the explainer is fitted to the same model trained on "
        "shuffled labels.",
        "Adebayo et al. 2018",
        costly=True,
    ),
    **FURTHER,
    **INSIDE,
    "human-precision": Check(
        "people:human_precision",
        "people",
        "higher",
        "Share of what is kept that people marked, or that is known to decide.",
        "DeYoung et al. 2020",
        truth=True,
    ),
    "human-recall": Check(
        "people:human_recall",
        "people",
        "higher",
        "Share of what people marked, or what is known to decide, that is kept.",
        "DeYoung et al. 2020",
        truth=True,
    ),
    "human-f1": Check(
        "people:human_f1",
        "people",
        "higher",
        "F1 of the two, row by row, then averaged; sentences count by their words.",
        "DeYoung et al. 2020",
        truth=True,
    ),
    "human-precision-micro": Check(
        "people:human_precision_micro",
        "people",
        "higher",
        "Share of what is kept that people marked, over the units of all rows together.",
        truth=True,
    ),
    "human-recall-micro": Check(
        "people:human_recall_micro",
        "people",
        "higher",
        "Share of what people marked that is kept, over the units of all rows together.",
        truth=True,
    ),
    "human-f1-micro": Check(
        "people:human_f1_micro", "people", "higher", "F1 over the units of all rows together.", truth=True
    ),
    "human-iou": Check(
        "people:human_iou",
        "people",
        "higher",
        "F1 over spans: one is found where it shares half of its union with a marked one.",
        "DeYoung et al. 2020",
        truth=True,
    ),
    "human-auprc": Check(
        "people:human_auprc",
        "people",
        "higher",
        "How well the scores, before anything is selected, rank what people marked (area under precision and recall).",
        "DeYoung et al. 2020",
        truth=True,
    ),
    "seconds": Check("cost:seconds", "cost", "lower", "Seconds to explain one row, fitting not counted."),
    "calls": Check("cost:calls", "cost", "lower", "Rows the model is asked about to explain one row."),
}

DECIDING = (
    "fs-m",
    "fu-m",
    "encoding-gain",
    "encoding-share",
    "reading",
    "reading-nats",
    "whole-rows",
)  # every audit runs these: the verdict needs them
HALVES = ("half-gain", "half-share", "half-reading")  # one question: none of them says anything without the others


def chosen(wanted: str | Iterable[str] = "default", deciding: bool = True) -> tuple[str, ...]:
    """The checks an audit runs, in the order of the table: those named and the `deciding` ones.

    "default" stands for all that are not costly, and those that can be run lightly; "all" for the whole table; both may
    stand among names.
    """
    usual = [name for name, check in CHECKS.items() if not check.costly or check.light]
    groups = {"default": usual, "all": list(CHECKS)}
    names = set(DECIDING if deciding else ())
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name not in CHECKS and name not in groups:
            raise unknown("check", name, [*CHECKS, *groups])
        names.update(HALVES if name in HALVES else groups.get(name, [name]))
    return tuple(name for name in CHECKS if name in names)


def lighter(wanted: str | Iterable[str] = "default") -> tuple[str, ...]:
    """Those of the checks that are run lightly: they came with "default", nobody named them."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if "default" not in names or "all" in names:
        return ()
    return tuple(name for name, check in CHECKS.items() if check.light and name not in names)


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a check, imported when it is asked for."""
    module, _, attribute = CHECKS[name].path.partition(":")
    return getattr(importlib.import_module(f"unmask.audit.{module}"), attribute)  # type: ignore[no-any-return]
