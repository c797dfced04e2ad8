"""Is it stable? The scores of rows and of the same rows moved a little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from unmask import progress, seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.types import Dataset, Explainer

__all__ = ["DRAWS", "REACH", "changes", "reach", "sen", "sen_legacy"]

DRAWS = 50  # as published
REACH = 0.2  # of a column's standard deviation, or of the range of all pixels: as published where they lie in [0, 1]


def sen(case: Case, subject: Subject) -> Values:
    """max over draws of ||E(x + n) - E(x)|| / ||E(x)||, n uniform in [-reach, reach]; lower is better.

    E are the raw scores toward the class of the row that was not moved; a selector that is fed the model's answer gets
    that of the moved row, so the model's own unrest is in it. Liang et al. 2020.
    """
    return _moved(case, subject, largest=True)


def sen_legacy(case: Case, subject: Subject) -> Values:
    """The same for the last draw alone: the published code forgets the maximum before each draw."""
    return _moved(case, subject, largest=False)


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


def _moved(case: Case, subject: Subject, largest: bool) -> Values:
    if case.data.layout.is_text:
        return missing(case, "words cannot be moved a little")
    explainer = subject.explainer
    if explainer is None:
        return missing(case, "came ready-made: moved rows cannot be explained")
    both = case.once(
        ("sen", subject.name), lambda: changes(subject.explanation.scores, _nearby(case, subject.name, explainer))
    )
    values = both[0] if largest else both[1]
    empty = int(values.isnan().sum())
    return Values(values, note=f"{empty} rows left out, their scores are all 0" if empty else "")


def _nearby(case: Case, name: str, explainer: Explainer) -> Iterator[Tensor]:
    """(n, d) scores of the audited rows, moved, one draw after the other; the draws are the same for everybody."""
    rng, far = seeds.generator(seeds.derive(case.seed, "sen")), reach(case.data)
    with progress.bar(f"{name}: rows moved", DRAWS) as step:
        for _ in range(DRAWS):
            noise = 2 * torch.rand(case.x.shape, generator=rng) - 1
            yield explainer.explain(case.x + far * noise, case.target).scores
            step("")
