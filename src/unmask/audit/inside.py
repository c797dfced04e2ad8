"""Checks on models that let us see inside: those that pay attention, and those that explain themselves."""

from __future__ import annotations

from unmask.audit.questions import Check

__all__ = ["INSIDE"]

INSIDE: dict[str, Check] = {
    "interlocking": Check(
        "locked:interlocking",
        "locked",
        "lower",
        "Would the predictor be better off elsewhere? How much more often a fresh one is right, reading the best "
        "selection of as many units, than the model or itself from the rationale.",
        "Yu et al. 2021",
        rationale=True,
    ),
    "hard-soft-gap": Check(
        "locked:hard_soft_gap",
        "locked",
        "lower",
        "How much more often the model's soft side (attention over the whole row, gates half open) is right than its "
        "predictor from the units kept: what the soft selection knows and the rationale does not carry.",
        "after Yu et al. 2021",
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
    "attention-jsd-attacked": Check(
        "attention:jsd_attacked",
        "stability",
        "lower",
        "How far attention moves when word vectors move as little, but where it hurts the answer most.",
        "Hu et al. 2023",
        costly=True,
        attention=True,
    ),
    "attention-tvd-attacked": Check(
        "attention:tvd_attacked",
        "stability",
        "lower",
        "How far the answer moves (total variation, 0 to 1) by the same attack; beside it, how far the next one is.",
        "Hu et al. 2023",
        costly=True,
        attention=True,
    ),
    "attention-jsd-words": Check(
        "attention:jsd_words",
        "stability",
        "lower",
        "How far attention moves when one word is replaced by its nearest neighbour among the model's word vectors; "
        "the curve: 1, 3 and 5 words.",
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
    "attention-conicity": Check(
        "attention:conicity",
        "attention",
        "lower",
        "How alike the states are that attention weighs (mean cosine with their mean, 0 to 1): near 1 any weights give "
        "much the same answer; beside it, states that point anywhere.",
        "Mohankumar et al. 2020",
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
    "attention-bypass": Check(
        "attention:bypass",
        "attention",
        "lower",
        "How much of what the most decisive words do reaches the answer past their own weights: whatever attention "
        "gives them, states of other words tell of them.",
        "after Pruthi et al. 2020",
        attention=True,
        costly=True,
    ),
}
