"""Is it locked? About models that explain themselves: a generator chooses, a predictor tells from what was chosen.

The two may lock each other into a poor choice: the predictor knows only what it is shown, and the generator shows what
the predictor knows (Yu et al. 2021). Such an explainer has `told(x, kept) -> (n, classes)`, the predictor alone, and,
where it has a soft side, `softly(x) -> (n, classes)`, the answer of that.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.evidence import ELSEWHERE
from unmask.judge import RECIPE, Judge, Rows, judge_net, mixed_sizes, train_judge
from unmask.masking import subsets
from unmask.task import seeded
from unmask.types import Split

__all__ = ["elsewhere", "exclusion", "explains_itself", "first_unit", "hard_soft_gap", "interlocking", "locked_seeds"]

REPLACED = 20  # times that the rest of each row is replaced
SINGLES = 200_000  # units that are shown on their own, at most
AT_ONCE = 4096  # of them in one go
SEEDS = 4  # other ones that a model is fitted with
NO_LABELS = "there are no labels to be right about"
NO_SOFT_SIDE = "its selection is hard alone: there is no soft one to compare it with"
NOT_ITS_OWN = "the model answers without this explanation: only one that tells from a rationale can be locked to it"


def explains_itself(explainer: Any) -> bool:
    """Whether an explainer is a model that tells its answer from a rationale."""
    return hasattr(explainer, "told")


def exclusion(case: Case, subject: Subject) -> Values:
    """1 where the predictor's answer stays the same to the last bit when the units left out are replaced by others.

    Each row 20 times, all units that are not kept at once, by units of other rows. The level beside it is 1: what is
    not kept may not matter at all.
    """
    if subject.by_chance:
        return Values(torch.ones(len(case.target)))
    if not explains_itself(subject.explainer):
        return missing(case, NOT_ITS_OWN)
    told: Any = subject.explainer.told  # type: ignore[union-attr]
    rng = seeds.generator(seeds.derive(case.seed, "replaced units"))
    own, same = told(case.x, subject.kept), torch.ones(len(case.target), dtype=torch.bool)
    for _ in range(REPLACED):
        other = _replaced(case, subject.kept, rng)
        same &= (told(other, subject.kept) == own).all(1)
    return Values(same.float())


def _replaced(case: Case, kept: Tensor, rng: torch.Generator) -> Any:
    """The audited rows, every unit that is not kept taken from another row at random."""
    n, layout = len(kept), case.data.layout
    if not layout.is_text:
        other = case.x[torch.randint(n, (n,), generator=rng)]
        return torch.where(layout.spread(kept).bool(), case.x, other)
    pool = [unit for row in case.x for unit in row]
    drawn = iter(torch.randint(len(pool), (int((~kept & case.valid).sum()),), generator=rng).tolist())
    return [
        [unit if keep else pool[next(drawn)] for unit, keep in zip(row, marks, strict=False)]
        for row, marks in zip(case.x, kept.tolist(), strict=True)
    ]


def first_unit(case: Case, subject: Subject) -> Values:
    """1 where the first unit of the row is in the rationale (X1)."""
    return Values(subsets.holds_first(subject.kept, case.valid).float())


def hard_soft_gap(case: Case, subject: Subject) -> Values:
    """1[the soft side is right] - 1[the predictor is right from the units kept]; lower is better, no gap is 0."""
    labels, explainer = case.labels, subject.explainer
    if labels is None:
        return missing(case, NO_LABELS)
    if subject.by_chance:
        return Values(torch.zeros(len(case.target)))
    if not explains_itself(explainer):
        return missing(case, NOT_ITS_OWN)
    if not hasattr(explainer, "softly"):
        return missing(case, NO_SOFT_SIDE)
    own: Any = explainer
    soft = (own.softly(case.x).argmax(1) == labels).float()
    hard = (own.told(case.x, subject.kept).argmax(1) == labels).float()
    return Values(soft - hard, note=f"right in {float(soft.mean()):.0%} softly, in {float(hard.mean()):.0%} hard")


def interlocking(case: Case, subject: Subject) -> Values:
    """1[a fresh predictor is right from the best units] - 1[the better predictor is right from the kept ones].

    The fresh one learned the labels from random units, so it is locked to none; the best units are those that it is
    surest of one by one, as many as are kept, and it learns on from these. The better predictor is the model's own or
    the fresh one before it chose, whichever is right more often from what the model keeps: a weak predictor with a good
    choice is not locked. For a random choice: what the fresh one reads from that. Lower is better.
    """
    labels = case.labels
    if labels is None:
        return missing(case, NO_LABELS)
    chance = subject.by_chance
    if not chance and not explains_itself(subject.explainer):
        return missing(case, NOT_ITS_OWN)
    if int(case.valid.sum()) > SINGLES:
        return missing(case, f"rows have more than {SINGLES:,} units in all: audit fewer rows (n)")
    judge = case.once("judge of labels", lambda: _judge(case))
    usual = max(1, round(float(subject.kept.sum(1).float().mean())))
    reader = case.once(("reader of its own choice", usual), lambda: _settled(case, judge, usual))
    kept = elsewhere(judge, case.prepared, case.valid, subject.kept.sum(1))
    best = reader.log_probabilities(case.prepared, kept).argmax(1) == labels
    fresh = (judge.log_probabilities(case.prepared, subject.kept).argmax(1) == labels).float()
    if chance:
        return Values(best.float() - fresh, note=_places(subject))
    explainer: Any = subject.explainer
    told = (explainer.told(case.x, subject.kept).argmax(1) == labels).float()
    note = f"from the same units right in {float(told.mean()):.0%}, a fresh predictor in {float(fresh.mean()):.0%}"
    return Values(best.float() - max(told, fresh, key=torch.mean), note=f"{_places(subject)}; {note}")


def locked_seeds(case: Case, subject: Subject) -> Values:
    """Share of five fits, its own and four with other seeds, that `interlocking` finds locked; lower is better.

    A fit is locked where that is more than 0.03, and surely above 0. Whether a model locks is a matter of luck: one
    that is free today says little of the method. Yu et al. 2021.
    """
    if subject.by_chance:
        return Values(torch.zeros(len(case.target)))
    found = interlocking(case, subject)
    if bool(found.values.isnan().all()):
        return found
    every = [found]
    with progress.bar("other seeds", SEEDS) as step:
        for i in range(SEEDS):
            every.append(interlocking(case, _again(case, subject, i)))
            step("")
    rate = sum(_is_locked(values.values) for values in every) / len(every)
    return Values(
        torch.full((len(case.target),), rate), note=f"{rate * len(every):.0f} of {len(every)} fits are locked"
    )


def _again(case: Case, subject: Subject, i: int) -> Subject:
    """The same method, fitted with another seed; its rationales are about what it answers itself."""
    own: Any = subject.explainer
    again = seeded(own.clone(), seeds.derive(case.seed, "locked", i)).fit(case.data)
    return replace(subject, explanation=again.explain(case.x), explainer=again)


def _is_locked(gain: Tensor) -> bool:
    error = float(gain.std()) / math.sqrt(len(gain))
    return float(gain.mean()) > max(ELSEWHERE, 1.96 * error)


def elsewhere(judge: Judge, x: Tensor, valid: Tensor, k: int | Tensor) -> Tensor:
    """(n, d) bool: the k units of each row that the judge is surest of when it sees one alone."""
    scores, d = torch.zeros(valid.shape), valid.shape[1]
    for part in valid.nonzero().split(AT_ONCE):
        row, unit = part.unbind(1)
        alone = torch.nn.functional.one_hot(unit, d)
        scores[row, unit] = judge.log_probabilities(x[row], alone).amax(1)
    return subsets.topk(scores, k, valid)


def _judge(case: Case) -> Judge:
    """A predictor of the labels from random units of the judges' rows."""
    seed = seeds.derive(case.seed, "judge of labels")
    net = judge_net(case.reader, len(case.data.classes), seed)
    return train_judge(net, *_rows(case), mixed_sizes(case.k), replace(RECIPE, seed=seed))


def _settled(case: Case, judge: Judge, k: int) -> Judge:
    """The judge after it learned on from the units that it chose itself; as it is, where these are too many to try."""
    rows = _rows(case)
    if sum(int(part.valid.sum()) for part in rows) > SINGLES:
        return judge
    train, held = (replace(part, kept=elsewhere(judge, part.x, part.valid, k)) for part in rows)
    recipe = replace(RECIPE, seed=seeds.derive(case.seed, "reader of its own choice"))
    return train_judge(deepcopy(judge.net), train, held, None, recipe)


def _rows(case: Case) -> tuple[Rows, Rows]:
    """The judges' rows with their labels: to learn from, and to choose the epoch on."""
    train, held = (case.pools[split].split for split in ("train", "validation"))
    return _labelled(case, train), _labelled(case, held)


def _labelled(case: Case, split: Split) -> Rows:
    x = case.reader.prepare(split.x)
    return Rows(x, torch.as_tensor(split.y), case.reader.valid(x))


def _places(subject: Subject) -> str:
    """Where rationales begin most often, in words."""
    if not bool(subject.kept.any()):
        return "nothing is kept"
    places = subsets.beginnings(subject.kept)
    return f"{float(places.max()):.0%} of the rationales begin at unit {int(places.argmax()) + 1}"
