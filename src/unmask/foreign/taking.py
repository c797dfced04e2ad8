"""What was made elsewhere as an Explanation.

Nothing is imported from Captum, SHAP or LIME: their objects are known by what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unmask import progress
from unmask.errors import InputError
from unmask.foreign.about import About
from unmask.foreign.arrays import plain
from unmask.foreign.lime_weights import is_lime, lime_weights
from unmask.foreign.shap_values import shap_values
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Explanation

__all__ = ["taken"]

MANY = 0.2  # of the rows, whose scores are all equal: that is worth a word


def taken(name: str, thing: Any, model: Wrapped, data: Dataset, k: int, split: str) -> Explanation:
    """`thing` as an Explanation of `data[split]`, its k highest units kept; what does not fit is refused."""
    part = data[split]
    about = About(name, data, part, split, model, model(part.x))
    if is_lime(thing):
        values, method = lime_weights(about, thing), "lime"
    elif hasattr(thing, "base_values") and hasattr(thing, "values"):
        values, method = shap_values(about, thing), "shap"
    elif hasattr(thing, "scores") and hasattr(thing, "target"):
        values, method = plain(about, thing.scores), "given"
        _check_classes(about, thing.target)
    else:
        values, method = plain(about, thing), "given"
    if not bool(values[part.valid].isfinite().all()):
        raise InputError(f"the scores {name!r} hold values that are not finite; replace them before the audit")
    _check_says_something(name, values, part.valid)
    kept = subsets.topk(values, k, part.valid)
    return Explanation(values.nan_to_num(), kept, part.valid, about.target, {"method": method, "k": k})


def _check_classes(about: About, told: Sequence[str]) -> None:
    """Scores that say by name which class they are about: that of the same rows by the same model."""
    said = [about.data.classes[target] for target in about.target.tolist()]
    other = [i for i, pair in enumerate(zip(said, told, strict=False)) if pair[0] != str(pair[1])]
    if other or len(told) != len(said):
        i = other[0] if other else min(len(told), len(said))
        raise InputError(
            f"{about.name!r} explains another class than the model predicts in row {i} and {max(len(other), 1) - 1} "
            "more; it is of other rows (another --split or --seed) or of another model"
        )


def _check_says_something(name: str, values: Tensor, valid: Tensor) -> None:
    """Scores that are equal choose by place alone, which is no choice of whoever made them."""
    several = valid.sum(1) > 1
    low, high = (values.masked_fill(~valid, end) for end in (torch.inf, -torch.inf))
    same = (low.amin(1) == high.amax(1))[several].float()
    share = float(same.mean()) if len(same) else 0.0
    if share == 1.0:
        raise InputError(f"the scores {name!r} are the same for every unit of every row, so they choose nothing")
    if share > MANY:
        progress.warn(f"in {share:.0%} of the rows the scores {name!r} are all equal: there the first units are kept")
