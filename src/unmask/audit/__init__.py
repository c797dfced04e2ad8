"""The audit: is an explanation enough, is it needed, does it smuggle the answer? Sees models, data and masks only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from unmask.audit.questions import QUESTIONS, Check
from unmask.errors import unknown

__all__ = ["CHECKS", "DECIDING", "QUESTIONS", "Check", "chosen", "function_of"]

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
        "How much of all that the explanation tells about the answer is told by the choice of the units.",
        "after Puli et al. 2024",
    ),
    "reading": Check(
        "smuggling:reading",
        "smuggling",
        "higher",
        "How often neutral judges, trained on masks that know nothing, find the answer in the values shown.",
        "after Jethani et al. 2021",
    ),
    "eval-x": Check(
        "smuggling:eval_x",
        "smuggling",
        "higher",
        "How often judges trained on purely random masks find the answer in the values shown.",
        "Jethani et al. 2021",
    ),
    "mask-only": Check(
        "smuggling:mask_only",
        "smuggling",
        "none",
        "How often the answer can be told from the mask alone; honest masks depend on the class too: decides nothing.",
        "Bai et al. 2021",
    ),
    "approximator-gap": Check(
        "smuggling:approximator_gap",
        "smuggling",
        "lower",
        "How much more often the method's own approximator finds the answer in the selection than the model does.",
        "Bai et al. 2021",
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
    "interlocking": Check(
        "locked:interlocking",
        "locked",
        "lower",
        "How much more often a fresh predictor, free to read other units, is right than the model from its rationale.",
        "Yu et al. 2021",
        rationale=True,
    ),
    "first-unit": Check(
        "locked:first_unit",
        "locked",
        "none",
        "How often the first unit of the row is in the rationale.",
        "Yu et al. 2021",
        rationale=True,
    ),
    "exclusion": Check(
        "locked:exclusion",
        "locked",
        "higher",
        "How often the answer stays the same, to the last bit, when what is not in the rationale is replaced.",
        "Yu et al. 2021",
        rationale=True,
    ),
    "attention-jsd": Check(
        "attention:jsd",
        "stability",
        "lower",
        "How far attention moves (Jensen-Shannon, 0 to 0.69) under noise on word vectors; equal weights never move, so "
        "read it beside the entropy.",
        "Hu et al. 2023",
        attention=True,
    ),
    "attention-tvd": Check(
        "attention:tvd",
        "stability",
        "lower",
        "How far the answer moves (total variation, 0 to 1) under the same noise; beside it, how far the next one is.",
        "Hu et al. 2023",
        attention=True,
    ),
    "attention-jsd-words": Check(
        "attention:jsd_words",
        "stability",
        "lower",
        "How far attention moves when one word is replaced by its nearest neighbour among the model's word vectors.",
        "Hu et al. 2023",
        attention=True,
    ),
    "attention-jsd-synonyms": Check(
        "attention:jsd_synonyms",
        "stability",
        "lower",
        "The same, but the neighbour is of the same part of speech and not of the opposite polarity (unmask[words]).",
        attention=True,
        costly=True,
    ),
    "attention-entropy": Check(
        "attention:entropy",
        "stability",
        "none",
        "How evenly attention is spread: 1 is the same for every word and tells nothing, 0 is all on one word.",
        attention=True,
    ),
    "attention-permutation": Check(
        "attention:permutation",
        "attention",
        "higher",
        "How far the answer moves (total variation, median) when the weights are shuffled among the words of the row.",
        "Jain & Wallace 2019",
        attention=True,
    ),
    "attention-adversarial": Check(
        "attention:adversarial",
        "attention",
        "lower",
        "How far attention can be moved (Jensen-Shannon, 0 to 0.69) while the answer stays the same.",
        "Jain & Wallace 2019",
        costly=True,
        attention=True,
    ),
    "attention-gradient": Check(
        "attention:gradient",
        "attention",
        "higher",
        "How far attention ranks words as the gradient does (Kendall's tau, -1 to 1).",
        "Jain & Wallace 2019",
        attention=True,
    ),
    "attention-occlusion": Check(
        "attention:occlusion",
        "attention",
        "higher",
        "How far attention ranks words by what leaving them out changes (Kendall's tau, -1 to 1).",
        "Jain & Wallace 2019",
        attention=True,
    ),
    "constant-tokens": Check(
        "attention:constant_tokens",
        "smuggling",
        "lower",
        "How much attention four words draw that are the same in every row; beside it, their even share.",
        "Bai et al. 2021",
        attention=True,
    ),
    "attention-flow": Check(
        "attention:flow",
        "attention",
        "lower",
        "How much of what the most decisive words do is done by words that get less than a tenth of the attention that "
        "other words get in their place.",
        "after Pruthi et al. 2020",
        attention=True,
    ),
    "seconds": Check("cost:seconds", "cost", "lower", "Seconds to explain one row, fitting not counted."),
    "calls": Check("cost:calls", "cost", "lower", "Rows the model is asked about to explain one row."),
}

DECIDING = ("fs-m", "fu-m", "encoding-share", "reading")  # every audit runs these: the verdict needs them


def chosen(wanted: str | Iterable[str] = "default") -> tuple[str, ...]:
    """The checks an audit runs, in the order of the table: those named and the deciding ones.

    "default" stands for all that are not costly, "all" for the whole table; both may stand among names.
    """
    groups = {"default": [name for name, check in CHECKS.items() if not check.costly], "all": list(CHECKS)}
    names = set(DECIDING)
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name not in CHECKS and name not in groups:
            raise unknown("check", name, [*CHECKS, *groups])
        names.update(groups.get(name, [name]))
    return tuple(name for name in CHECKS if name in names)


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a check, imported when it is asked for."""
    module, _, attribute = CHECKS[name].path.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"unmask.audit.{module}"), attribute)
    return found
