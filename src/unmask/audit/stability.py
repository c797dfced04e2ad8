"""Is it stable? The scores of rows and of the same rows moved a little, and those of the same method learned again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from unmask import distances, progress, seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.locked import explains_itself
from unmask.errors import UnmaskError
from unmask.task import seeded
from unmask.types import Dataset, Explainer, Explanation

__all__ = [
    "BY_CONSTRUCTION",
    "DRAWS",
    "DRAWS_NOTHING",
    "HIDES_NOTHING",
    "REACH",
    "REFITS",
    "changes",
    "reach",
    "score_entropy",
    "seed_correlation",
    "seed_stability",
    "sen",
    "sen_legacy",
    "shared",
    "topk_overlap",
]

DRAWS = 50  # as published
REACH = 0.2  # of a column's standard deviation, or of the range of all pixels: as published where they lie in [0, 1]
REFITS = 3  # the same method with other seeds
AT_ONCE = 2000  # rows whose shares are held in memory
HIDES_NOTHING = "hides nothing: the same under any removal by construction, which is no evidence of anything"
DRAWS_NOTHING = "draws nothing: the same with any seed by construction, which is no evidence of anything"
BY_CONSTRUCTION = (DRAWS_NOTHING, HIDES_NOTHING)  # values that could not have been others: known by these words


def sen(case: Case, subject: Subject) -> Values:
    """max over draws of ||E(x + n) - E(x)|| / ||E(x)||, n uniform in [-reach, reach]; lower is better.

    E are the raw scores toward the class of the row that was not moved; a selector that is fed the model's answer gets
    the answer to that row too, so the model's own unrest is not in it. Yeh et al. 2019; Liang et al. 2020.
    """
    return _moved(case, subject, largest=True)


def sen_legacy(case: Case, subject: Subject) -> Values:
    """The same for the last draw alone: the published code forgets the maximum before each draw."""
    return _moved(case, subject, largest=False)


def topk_overlap(case: Case, subject: Subject) -> Values:
    """Mean over the draws of `sen` of |kept of x and of x + n| / k; higher is better, by chance k/d."""
    found = _nearby(case, subject)
    return found if isinstance(found, Values) else Values(found[2])


def seed_stability(case: Case, subject: Subject) -> Values:
    """Mean over fits with other seeds of |kept by both| / k; higher is better, by chance k/d.

    The explainer is cloned, its seed changed, fitted to the same model and asked about the same rows and classes. One
    that draws nothing has 1, which is noted and decides nothing. After Hu et al. 2023.
    """
    found = _refitted(case, subject)
    if isinstance(found, Values):
        return found
    stayed = torch.stack([shared(subject.kept, e.kept) for e in found]).mean(0)
    return Values(stayed, note=_by_construction(subject, found))


def seed_correlation(case: Case, subject: Subject) -> Values:
    """Mean over the same fits of Spearman's correlation of the scores of a row; higher is better, by chance 0."""
    found = _refitted(case, subject)
    if isinstance(found, Values):
        return found
    scores = subject.explanation.scores
    ranks = torch.stack([distances.spearman(scores, e.scores, case.valid) for e in found]).nanmean(0)
    return Values(ranks, note=_by_construction(subject, found))


def score_entropy(case: Case, subject: Subject) -> Values:
    """-sum a log a / log d, a = |score| / sum |scores|: 1, all units the same, stable and useless; 0, one unit alone.

    Logits of learned selectors are not shares of anything: their entropy compares with that of other fits only.
    """

    def some(scores: Tensor, valid: Tensor) -> Tensor:
        size = scores.abs() * valid
        total = size.sum(1, keepdim=True)
        return distances.entropy(size / torch.where(total > 0, total, torch.nan), valid)

    parts = zip(subject.explanation.scores.split(AT_ONCE), case.valid.split(AT_ONCE), strict=True)
    return Values(torch.cat([some(*part) for part in parts]))


def changes(clean: Tensor, moved: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """(n,) the largest and the last distance of scores (n, d) to the clean ones, relative to their norm.

    Divided once, after the maximum; nan where all clean scores of a row are 0.
    """
    largest = last = torch.zeros(len(clean))
    for scores in moved:
        last = (scores - clean).norm(dim=1)
        largest = torch.maximum(largest, last)
    size = clean.norm(dim=1)
    size = torch.where(size > 0, size, torch.nan)
    return largest / size, last / size


def reach(data: Dataset) -> Tensor:
    """How far each value of a row may move: by column for a table (a constant one stays), one for all pixels."""
    x: Tensor = data.train.x
    if data.kind == "image":
        return REACH * (x.max() - x.min())
    mean = x.nanmean(0)
    return REACH * ((x - mean) ** 2).nanmean(0).sqrt().nan_to_num()


def shared(kept: Tensor, again: Tensor) -> Tensor:
    """(n,) share of the kept units that are kept again; nan where none is."""
    size = kept.sum(1)
    return (kept & again).sum(1) / torch.where(size > 0, size, torch.nan)


def _moved(case: Case, subject: Subject, largest: bool) -> Values:
    found = _nearby(case, subject)
    if isinstance(found, Values):
        return found
    values = found[0] if largest else found[1]
    empty = int(values.isnan().sum())
    return Values(values, note=f"{empty} rows left out, their scores are all 0" if empty else "")


def _nearby(case: Case, subject: Subject) -> tuple[Tensor, Tensor, Tensor] | Values:
    """(n,) largest and last change of the scores and mean share of the choice that stays; or why there are none."""
    if case.data.layout.is_text:
        return missing(case, "words cannot be moved a little")
    explainer = subject.explainer
    if explainer is None:
        return missing(case, "came ready-made: moved rows cannot be explained")

    def walk() -> tuple[Tensor, Tensor, Tensor]:
        stayed: list[Tensor] = []

        def scores() -> Iterator[Tensor]:
            for e in _explained(case, subject.name, explainer):
                stayed.append(shared(subject.kept, e.kept))
                yield e.scores

        return *changes(subject.explanation.scores, scores()), torch.stack(stayed).mean(0)

    return case.once(("sen", subject.name), walk)


def _explained(case: Case, name: str, explainer: Explainer) -> Iterator[Explanation]:
    """The audited rows, moved, explained: one draw after the other; the draws are the same for everybody."""
    rng, far = seeds.generator(seeds.derive(case.seed, "sen")), reach(case.data)
    given: dict[str, Tensor] = {"answer": case.full} if getattr(explainer, "feedback", False) else {}
    with progress.bar(f"{name}: rows moved", DRAWS) as step:
        for _ in range(DRAWS):
            noise = 2 * torch.rand(case.x.shape, generator=rng) - 1
            yield explainer.explain(case.x + far * noise, case.target, **given)
            step("")


def _refitted(case: Case, subject: Subject) -> list[Explanation] | Values:
    """What the same method says when it is fitted with other seeds; or why that cannot be known."""
    explainer = subject.explainer
    if explainer is None:
        return missing(case, "came ready-made: it cannot be fitted again")
    if explains_itself(explainer):
        return missing(case, "a model that explains itself is another model with another seed")
    try:
        return case.once(("refitted", subject.name), lambda: [_again(case, explainer, i) for i in range(REFITS)])
    except UnmaskError as error:
        return missing(case, f"could not be fitted again: {error}")


def _by_construction(subject: Subject, again: list[Explanation]) -> str:
    """A remark where other seeds gave the very same scores: nothing was drawn, so nothing could change."""
    scores = subject.explanation.scores
    return DRAWS_NOTHING if all(torch.allclose(scores, e.scores, rtol=1e-5) for e in again) else ""


def _again(case: Case, explainer: Explainer, i: int) -> Explanation:
    seed = seeds.derive(case.seed, "fitted again", i)
    with seeds.seeded(seed):  # for what takes no seed
        found: Explanation = seeded(explainer.clone(), seed).fit(case.model, case.data).explain(case.x, case.target)
    width = case.valid.shape[1]
    return Explanation(found.scores[:, :width], found.kept[:, :width], case.valid, case.target)
