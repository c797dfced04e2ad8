"""Does attention tell what the model uses? For models that answer through one attention vector.

The checks are about the model's attention, so they have values for an explanation that is this attention, and for no
other. They are shown beside attention that knows nothing, which stands in the row of the random control: the same
weights given to other words of the row at random, or equal weights where that says more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from unmask import distances, seeds
from unmask.audit.astray import led_astray
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.looking import (
    CONSTANTS,
    Seen,
    asked,
    attacked,
    in_place,
    left_out,
    on_constants,
    permuted,
    reshuffled,
    reworded,
    see,
    shaken,
    slopes,
    unweighted,
)
from unmask.errors import InputError, UnmaskError
from unmask.masking import subsets

__all__ = [
    "adversarial",
    "bypass",
    "conicity",
    "constant_tokens",
    "entropy",
    "flow",
    "gradient",
    "jsd",
    "jsd_attacked",
    "jsd_synonyms",
    "jsd_words",
    "occlusion",
    "permutation",
    "tvd",
    "tvd_attacked",
    "tvd_synonyms",
    "tvd_words",
]

PERMUTATIONS = 100  # as published
SWAPPED = (1, 3, 5)  # words of a row that are replaced
UNSEEN = 0.1  # of the attention that other words get in the same place: a word with less is kept out of sight
DECISIVE = 0.05  # mean change of the answer by a row's most decisive word below which no single word decides


def jsd(case: Case, subject: Subject) -> Values:
    """JSD of attention on the row and with uniform noise of 0.05 on word vectors; lower is better. Hu et al. 2023.

    Small vectors, as those of pretrained transformers, are moved by an eighth of the spread of their values. Constant
    attention has 0: read it beside its entropy.
    """
    return _about(case, subject, lambda s: distances.jsd(s.w, shaken(case, s)[1], s.valid), _elsewhere(case))


def tvd(case: Case, subject: Subject) -> Values:
    """Total variation of the answer under the same noise, lower is better; beside it, to the answer of another row."""
    return _about(case, subject, lambda s: distances.tvd(s.p, shaken(case, s)[0]), _other_row(case))


def jsd_attacked(case: Case, subject: Subject) -> Values:
    """As `jsd`, but vectors are moved by ten gradient steps that seek to change the answer, no farther than the noise.

    Lower is better. Hu et al. 2023; projected gradient ascent as in Madry et al. 2018.
    """
    return _about(case, subject, lambda s: distances.jsd(s.w, attacked(case, s)[1], s.valid), _elsewhere(case))


def tvd_attacked(case: Case, subject: Subject) -> Values:
    """Total variation of the answer under the same change; lower is better."""
    return _about(case, subject, lambda s: distances.tvd(s.p, attacked(case, s)[0]), _other_row(case))


def jsd_words(case: Case, subject: Subject) -> Values:
    """JSD of attention on the row and on the row with one word replaced by its nearest neighbour.

    The curve has it for 1, 3 and 5 words. Lower is better; a neighbour may have the opposite meaning. Hu et al. 2023.
    """
    return _reworded(case, subject, "jsd", synonyms=False)


def tvd_words(case: Case, subject: Subject) -> Values:
    """Total variation of the answer when the same words are replaced; beside it, to the answer of another row."""
    return _reworded(case, subject, "tvd", synonyms=False)


def jsd_synonyms(case: Case, subject: Subject) -> Values:
    """As `jsd_words`, but a word is replaced only by one of its part of speech and not of opposite polarity."""
    return _reworded(case, subject, "jsd", synonyms=True)


def tvd_synonyms(case: Case, subject: Subject) -> Values:
    """Total variation of the answer when the same words are replaced by synonyms; lower is better."""
    return _reworded(case, subject, "tvd", synonyms=True)


def _reworded(case: Case, subject: Subject, what: Literal["jsd", "tvd"], synonyms: bool) -> Values:
    curve: dict[float, Tensor] = {}

    def own(s: Seen) -> Tensor:
        for n in SWAPPED:
            raw, w = reworded(case, s, n, synonyms)
            moved = distances.jsd(s.w, w, s.valid) if what == "jsd" else distances.tvd(s.p, s.probabilities(raw))
            curve[float(n)] = moved.float()
        return curve[1.0]

    found = _about(case, subject, own, _elsewhere(case) if what == "jsd" else _other_row(case))
    return replace(found, curve=curve)


def entropy(case: Case, subject: Subject) -> Values:
    """Entropy of attention over that of equal weights: 1 tells nothing, 0 is all on one word."""
    return _about(case, subject, lambda s: distances.entropy(s.w, s.valid), lambda s: torch.ones(len(s.w)))


def permutation(case: Case, subject: Subject) -> Values:
    """Median total variation of the answer over 100 permutations of the weights of a row. Jain & Wallace 2019.

    0, as for equal weights: where the model looks does not matter to what it says. Higher is better.
    """

    def own(s: Seen) -> Tensor:
        return reshuffled(s, PERMUTATIONS, _rng(case, "permutations")).quantile(0.5, 0)

    return _about(case, subject, own, lambda s: torch.zeros(len(s.w)))


def adversarial(case: Case, subject: Subject) -> Values:
    """The largest JSD, log 2 at most, to another attention under which the answer is the same. Jain & Wallace 2019.

    Of 5 candidates, found by gradient descent, those that move the answer by at most 0.05 count. Lower is better.
    """
    return _about(case, subject, lambda s: led_astray(s, _rng(case, "adversarial attention")), _elsewhere(case))


def gradient(case: Case, subject: Subject) -> Values:
    """Kendall's tau of attention with |gradient x vector| of the words, attention held still. Jain & Wallace 2019."""
    return _agreement(case, subject, lambda s: case.once("slopes of words", lambda: slopes(case, s)))


def occlusion(case: Case, subject: Subject) -> Values:
    """Kendall's tau of attention with the change of the answer when a word is left out. Jain & Wallace 2019."""
    return _agreement(case, subject, lambda s: left_out(case), _asked(case))


def conicity(case: Case, subject: Subject) -> Values:
    """Mean |cos| between the states of a row's words and their mean; lower is better. Mohankumar et al. 2020.

    In a narrow cone attention means little, whatever it weighs. Beside it, states drawn from a normal law.
    """

    def null(s: Seen) -> Tensor:
        rng, wide = _rng(case, "states that point anywhere"), _states(s, s.x[:1]).shape[2]
        parts = s.valid.split(512)
        return torch.cat([distances.conicity(torch.randn(*v.shape, wide, generator=rng), v) for v in parts])

    return _about(case, subject, _cones, null)


def constant_tokens(case: Case, subject: Subject) -> Values:
    """Attention that 4 words draw which are the same in every row: the most frequent one, added at the end.

    They tell nothing of the row; beside it is their even share, 4 of all words. Lower is better. Bai et al. 2021.
    """
    return _about(case, subject, lambda s: on_constants(case, s), lambda s: CONSTANTS / (s.valid.sum(1) + CONSTANTS))


def flow(case: Case, subject: Subject) -> Values:
    """How much of what the most decisive words do is done by words that attention hides. After Pruthi et al. 2020.

    The most decisive word of a row is the one without which the answer changes most, TVD(x, x without it). Attention
    hides it where it gets less than a tenth of the attention that other words get in the same place. Reported is the
    mean change by hidden words over the mean change by all; beside it, the same for a word of the row drawn at random.
    Attention taught to deceive comes near 1; lower is better.
    """

    def hidden(s: Seen, place: Tensor) -> Tensor:
        usual = in_place(case, s, place, _rng(case, "words in place"))
        return left_out(case).nan_to_num().amax(1) * (s.w.gather(1, place[:, None])[:, 0] < UNSEEN * usual)

    def null(s: Seen) -> Tensor:
        return hidden(s, subsets.uniform(s.valid, 1, _rng(case, "any word")).long().argmax(1))

    found = _about(case, subject, lambda s: hidden(s, left_out(case).nan_to_num().argmax(1)), null)
    if bool(found.values.isnan().all()):
        return found
    decided = left_out(case).nan_to_num().amax(1)
    if float(decided[asked(case)].mean()) < DECISIVE:
        return missing(case, "no single word decides much: there is nothing for attention to hide")
    return Values(found.values, decided, _asked(case))


def bypass(case: Case, subject: Subject) -> Values:
    """How much of what the most decisive words do reaches the answer past their own weights. After Pruthi et al. 2020.

    Reported is the mean of TVD(x, x without the word) - TVD(x, x with the word's weight given to others), at least 0,
    over the mean of the first: 1 where a word decides and its weight does not. States of neighbours may tell of a word
    too, so this alone accuses nobody; beside it, the same for a word drawn at random. Lower is better.
    """

    done: list[Tensor] = []  # (n,) what the words asked about do

    def past(s: Seen, place: Tensor) -> Tensor:
        done.append(left_out(case).nan_to_num().gather(1, place[:, None])[:, 0])
        return (done[0] - unweighted(s, place)).clamp(min=0)

    def null(s: Seen) -> Tensor:
        return past(s, subsets.uniform(s.valid, 1, _rng(case, "any word")).long().argmax(1))

    found = _about(case, subject, lambda s: past(s, left_out(case).nan_to_num().argmax(1)), null)
    return found if bool(found.values.isnan().all()) else Values(found.values, done[0], _asked(case))


def _about(
    case: Case, subject: Subject, own: Callable[[Seen], Tensor], null: Callable[[Seen], Tensor], note: str = ""
) -> Values:
    """`own` for the model's attention, `null` for the random control, nothing for anything else."""
    s = case.once("attention", lambda: see(case))
    if isinstance(s, str):
        return missing(case, s)
    if not subject.by_chance and not _is_attention(subject.explanation.scores, s):
        return missing(case, "these scores are not the attention of the model")
    try:
        return Values((null if subject.by_chance else own)(s).float(), note=note)
    except UnmaskError as error:
        return missing(case, str(error))


def _is_attention(scores: Tensor, s: Seen) -> bool:
    """Whether scores are the weights, on whatever scale."""
    share = scores / scores.sum(1, keepdim=True)
    return bool(torch.isclose(share, s.w, rtol=1e-3, atol=1e-5)[s.valid].all())


def _agreement(case: Case, subject: Subject, importance: Callable[[Seen], Tensor], note: str = "") -> Values:
    def null(s: Seen) -> Tensor:
        return distances.kendall(permuted(s.w, s.valid, _rng(case, "agreement")), importance(s), s.valid)

    return _about(case, subject, lambda s: distances.kendall(s.w, importance(s), s.valid), null, note)


def _states(s: Seen, x: Tensor) -> Tensor:
    """(n, d, width) what attention weighs."""
    with torch.no_grad():
        states = s.model.attend(x)[1]
    if not isinstance(states, Tensor) or states.ndim != 3:
        raise InputError("only a model with attend(x) -> (weights, states) shows the states it weighs")
    return states


def _cones(s: Seen) -> Tensor:
    """(n,) how narrow the cone is that the states of each row lie in."""
    parts = zip(s.x.split(512), s.valid.split(512), strict=True)
    return torch.cat([distances.conicity(_states(s, x), valid.to(x.device)).cpu() for x, valid in parts])


def _other_row(case: Case) -> Callable[[Seen], Tensor]:
    """How far the answer to another row is, drawn at random: rows may be sorted."""

    def far(s: Seen) -> Tensor:
        order = torch.randperm(len(s.p), generator=_rng(case, "other rows"))
        return distances.tvd(s.p, s.p[order.roll(1)[order.argsort()]])

    return far


def _elsewhere(case: Case) -> Callable[[Seen], Tensor]:
    """JSD of attention to the same weights on other words of the row."""
    return lambda s: distances.jsd(s.w, permuted(s.w, s.valid, _rng(case, "attention elsewhere")), s.valid)


def _rng(case: Case, what: str) -> torch.Generator:
    return seeds.generator(seeds.derive(case.seed, what))


def _asked(case: Case) -> str:
    rows = len(asked(case))
    return f"{rows} of the rows" if rows < len(case.valid) else ""
